/**
 * Teams: an account with all accounts below it, what they spent together, and what keys the members of an
 * account may make for themselves.
 */
import { z } from 'zod';
import { formatUsd } from '../../../../core/index.ts';
import { buildCountFlag, buildListFlag, nestFlags } from '../../../shared/operator-verbs.ts';
import type { AccountDetails, MemberKeys } from '../../../shared/replies/accounts.ts';
import type { AccountRecord, TeamRow } from '../store.ts';
import { limits } from './reading.ts';
import { toUsdOrNull } from './replies.ts';

/** What keys members may make. Null, or nothing, is no limit. */
export const memberRule = z.strictObject({
  most: z.int('it has to be a whole number of keys').min(1).max(100, 'a member has at most 100 keys'),
  ...limits.pick({ spendCap: true, models: true, callsPerMinute: true }).shape,
  days: z.int('it has to be a whole number of days').min(1).max(3650).nullable().optional(),
});
export type MemberRule = z.output<typeof memberRule>;

export function describeRule({ most, spendCap, models, callsPerMinute, days }: MemberRule): MemberKeys {
  return {
    most,
    spendCap: toUsdOrNull(spendCap ?? undefined),
    models: models ?? null,
    callsPerMinute: callsPerMinute ?? null,
    days: days ?? null,
  };
}

/** The rule that an account has; undefined: its members may make no keys. */
export function readRule({ memberKeys }: Pick<AccountRecord, 'memberKeys'>): MemberRule | undefined {
  return memberKeys === undefined ? undefined : memberRule.parse(JSON.parse(memberKeys));
}

function sumUp(rows: readonly TeamRow[]): AccountDetails['team'] {
  return {
    accounts: rows.length,
    calls: rows.reduce((sum, { calls }) => sum + calls, 0),
    spent: formatUsd(rows.reduce((sum, { used }) => sum + used, 0n)),
  };
}

/** What an account and the accounts below it spent, each child with all below it. */
export function describeTeam(
  account: TeamRow,
  team: readonly TeamRow[],
): Pick<AccountDetails, 'above' | 'own' | 'team' | 'children' | 'memberKeys'> {
  const rule = readRule(account);
  const byChild = Map.groupBy(team, ({ name, line }) => [name, ...line][line.indexOf(account.name)]);
  return {
    above: account.line,
    own: sumUp([account]),
    team: sumUp(team),
    children: team
      .filter(({ line }) => line[0] === account.name)
      .map(({ name, state, total, used, pending }) => ({
        account: name,
        state,
        available: formatUsd(total - used - pending),
        team: sumUp(byChild.get(name) ?? []),
      })),
    memberKeys: rule ? describeRule(rule) : null,
  };
}

/** What a rule allows, in words. */
export function formatRule(rule: MemberKeys | null): string {
  if (rule === null) return 'its members may make no keys';
  const { most, spendCap, models, callsPerMinute, days } = rule;
  const parts = [
    `each member may have ${most} keys`,
    spendCap !== null && `of at most ${spendCap} USD`,
    models !== null && `for ${models.join(', ')}`,
    callsPerMinute !== null && `with ${callsPerMinute} calls a minute`,
    days !== null && `for ${days} days`,
  ];
  return parts.filter((part) => part !== false).join(', ');
}

const formatSums = ({ calls, spent }: AccountDetails['team']): string =>
  `${spent} USD spent in ${calls} calls`;

/** The accounts around an account, a line each. */
export function formatTeam({ above, own, team, children, memberKeys }: AccountDetails): string[] {
  return [
    ...(above.length > 0 ? [`below ${above.join(', below ')}`] : []),
    `own: ${formatSums(own)}`,
    ...(children.length > 0 ? [`team of ${team.accounts} accounts: ${formatSums(team)}`] : []),
    ...children.map(
      (child) => `  ${child.account}: ${formatSums(child.team)}, ${child.available} USD available`,
    ),
    formatRule(memberKeys),
  ];
}

export const memberFlags = nestFlags('memberKeys', {
  '<most>': { ...buildCountFlag(''), field: 'most' },
  '--spend-cap <usd>': 'the most that each key may spend',
  '--models <ids>': buildListFlag('models that the keys may call'),
  '--calls-per-minute <count>': buildCountFlag('how many calls each key may make in a minute'),
  '--days <count>': buildCountFlag('days after which a key expires at the latest'),
});
