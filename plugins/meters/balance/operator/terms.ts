/** What operators write and read of an account's terms: whether it pays later, and its allowance. */
import { z } from 'zod';
import { formatUsd } from '../../../../core/index.ts';
import type { Fields, Flags } from '../../../shared/operator-verbs.ts';
import type { ListedAccount } from '../../../shared/replies/accounts.ts';
import { isZone } from '../budgets/periods.ts';
import { allowanceModes, allowancePeriods, type AccountRecord } from '../store.ts';
import { readBudgetText } from './budgets.ts';
import { amount } from './reading.ts';
import { buildParamError, toIso } from './replies.ts';

/** What is not stated stays, or is each month in UTC, added to what is left. */
export const allowanceChange = z.strictObject({
  amount: amount.optional(),
  per: z.enum(allowancePeriods, `an allowance is per ${allowancePeriods.join(', ')}`).optional(),
  mode: z.enum(allowanceModes, `an allowance is one to ${allowanceModes.join(' or ')}`).optional(),
  zone: z.string().max(100).refine(isZone, 'a time zone is named as in Europe/Berlin or UTC').optional(),
});

type Shown = Pick<ListedAccount, 'postpaid' | 'allowance'>;

export function describeTerms({ terms: { postpaid, allowance }, due, state }: AccountRecord): Shown {
  const next = state === 'closed' ? undefined : due;
  return {
    postpaid,
    allowance: allowance ? { ...allowance, amount: formatUsd(allowance.amount), next: toIso(next) } : null,
  };
}

/** `pays later; 100 USD each month (UTC), next at 2026-12-01T00:00:00.000Z`; empty if nothing is agreed. */
export function formatTerms({ postpaid, allowance }: Shown): string {
  const parts = [postpaid && 'pays later'];
  if (allowance) {
    const { amount: each, per, mode, zone, next } = allowance;
    const reset = mode === 'reset' ? ', what is left is taken back' : '';
    parts.push(`${each} USD each ${per} (${zone})${reset}${next === null ? '' : `, next at ${next}`}`);
  }
  return parts.filter(Boolean).join('; ');
}

/** `pays later, 100/month` */
export function formatTermsBriefly({ postpaid, allowance }: Shown): string {
  return [postpaid && 'pays later', allowance && `${allowance.amount}/${allowance.per}`]
    .filter(Boolean)
    .join(', ');
}

export const termFlags: Flags = {
  '--postpaid': 'it pays later: a budget has to count it, and limits it instead of its balance',
  '--allowance <usd>': {
    description: 'credit for each month, week or day: 100/month; "none" ends it',
    read(typed) {
      const { limit, per } = readBudgetText(String(typed));
      return typed === 'none' ? { none: true } : { amount: limit, per };
    },
  },
  '--add': { field: 'allowance.add', description: 'add the allowance to what is left of the last one' },
  '--reset': { field: 'allowance.reset', description: 'take back what is left of the last one first' },
  '--zone <name>': {
    field: 'allowance.zone',
    description: 'IANA time zone whose months, weeks or days count (UTC unless given)',
  },
};

/** What was typed as the input of an operation. Throws if flags exclude each other. */
export function readTermFlags({ allowance, prepaid, ...input }: Fields): Fields {
  if (prepaid !== undefined && input.postpaid !== undefined)
    throw buildParamError('postpaid', 'give one of --postpaid and --prepaid');
  const pays = prepaid === undefined ? input : { ...input, postpaid: false };
  if (allowance === undefined) return pays;
  const { none, add, reset, ...stated } = z.record(z.string(), z.unknown()).parse(allowance);
  if (none !== undefined && (add ?? reset ?? stated.zone) !== undefined)
    throw buildParamError('allowance', 'without an allowance there is nothing to add, reset or time');
  if (add !== undefined && reset !== undefined)
    throw buildParamError('allowance', 'give one of --add and --reset');
  const mode = add === undefined ? reset && 'reset' : 'add';
  return { ...pays, allowance: none === undefined ? { ...stated, mode } : null };
}
