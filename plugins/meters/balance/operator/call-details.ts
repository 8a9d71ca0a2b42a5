/**
 * A call as a person reads it: what was asked and by whom, where it went, how long each step took, what it
 * cost by unit, and what was lost on the way.
 */
import { toOneLine } from '../../../../core/index.ts';
import { formatTag } from '../../../shared/calls/tag-text.ts';
import type { Replies } from '../../../shared/replies/routes.ts';
import { formatFacts, formatTable } from '../../../shared/table.ts';
import { formatUses } from './csv.ts';

type Details = Replies['GET /admin/calls/:id'];

/** The words that there are. */
function joinWords(words: readonly (string | null | undefined | false)[]): string {
  return words.filter(Boolean).map(String).map(toOneLine).join(', ');
}

function listFacts(call: Details): Record<string, string> {
  const { key, key_name: name, error, first_event_ms: first, refunded, rule } = call;
  return {
    call: call.id,
    ended: joinWords([
      call.ended,
      `${call.duration_ms} ms after it came`,
      first !== null && `first event after ${first} ms`,
    ]),
    account: call.account ?? '',
    key: name ? `${toOneLine(name)} (${key})` : (key ?? ''),
    client: joinWords([call.address, call.client]),
    tags: joinWords(Object.entries(call.tags).map(([tag, value]) => formatTag(tag, value))),
    asked: joinWords([call.model ?? 'no model', call.protocol, call.operation, call.stream && 'streamed']),
    answered: call.provider === null ? 'no provider was called' : `${call.answered_by} by ${call.provider}`,
    outcome: joinWords([call.outcome, `status ${call.status}`, call.error_code]),
    because: toOneLine(error?.message ?? ''),
    flags: call.flags.join(', '),
    used: formatUses(call.uses.filter(({ count }) => count > 0)),
    cost: joinWords([
      call.cost_basis === 'none' ? `${call.cost} USD` : `${call.cost} USD by ${call.cost_basis}`,
      rule && `rule ${rule}`,
      `${call.vendor_cost} to the vendor`,
      `${call.reserved} reserved`,
      refunded !== null && `${refunded} refunded`,
    ]),
  };
}

/** A table below a line that names it; nothing without rows. */
function formatSection(name: string, headings: string, rows: readonly (readonly unknown[])[]): string[] {
  return rows.length === 0 ? [] : [`\n${name}\n${formatTable(headings.split(' '), rows)}`];
}

/** What every attempt lost and what the reply did, each once. */
function listLosses({ losses, losses_omitted: omitted, attempts }: Details): string[][] {
  const all = [...attempts.flatMap((attempt) => attempt.losses), ...losses];
  const rows = new Map(all.map(({ path, code, reason }) => [`${path} ${code}`, [path, code, reason]]));
  return [...rows.values(), ...(omitted ? [[`and ${omitted} more`]] : [])];
}

const roundTime = (milliseconds: number | null) => milliseconds && Math.round(milliseconds);

export function formatDetails(call: Details): string {
  const attempts = call.attempts.map(({ provider, key, model, ...each }) => {
    const place = [each.number, key === undefined ? provider : `${provider} key ${key}`, model];
    const times = [each.start_ms, each.first_event_ms, each.duration_ms];
    return [...place, each.outcome, each.status, ...times, joinWords([each.message, each.cause])];
  });
  const steps = call.routing
    .filter(({ removed, reason }) => removed.length > 0 || reason !== null)
    .map(({ by, reason, removed }) => [by, joinWords(removed.map(({ provider }) => provider)), reason]);
  const bill = call.entries
    .flatMap(({ lines }) => lines)
    .map(({ kind, units, price, per, amount }) => [kind, units, price, per, amount]);
  const timing = call.timing.map((step) => [
    step.name,
    roundTime(step.start_ms),
    roundTime(step.duration_ms),
  ]);
  return [
    formatFacts(listFacts(call)),
    ...formatSection('Routing', 'BY REMOVED REASON', steps),
    ...formatSection('Attempts', '# PROVIDER MODEL OUTCOME STATUS START FIRST MS MESSAGE', attempts),
    ...formatSection('Time in ms', 'STEP START MS', timing),
    ...formatSection('Cost by unit', 'UNIT COUNT USD PER AMOUNT', bill),
    ...formatSection('Lost', 'FIELD CODE REASON', listLosses(call)),
  ].join('\n');
}
