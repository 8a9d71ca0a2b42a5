/**
 * Calls by the session of an agent, or by another tag: the dearest sessions of a range with their sums, which
 * are exact, and what their newest calls say: their clients, and what was lost on the way to a provider.
 */
import { z } from 'zod';
import { roles } from '../../../shared/operations.ts';
import type { Replies } from '../../../shared/replies/routes.ts';
import { readKeyNames } from './key-records.ts';
import { defineOperation } from './operation.ts';
import { computeRange, computeTotals } from './overview.ts';
import { buildNumberSchema, checkPeriod, period } from './reading.ts';
import { buildParamError, toIso } from './replies.ts';

/** Days of a range: each has thousands of sessions. */
const longestRange = 31 * 86_400_000;
/** Calls of a session whose records are read. */
const newest = 20;
/** Kinds of loss that are listed. */
const mostLosses = 50;

const lossSchema = z.object({ path: z.string(), code: z.string(), reason: z.string() });
const losses = z.array(lossSchema).nullish();
/** Calls as `listTagged` returns them. */
const callsSchema = z.array(
  z.object({
    ended: z.number(),
    call: z.string(),
    account: z.string(),
    key: z.string(),
    model: z.string(),
    provider: z.string(),
    client: z.string().nullable(),
    losses,
    tries: z.array(z.looseObject({ losses })).nullish(),
  }),
);

/** The newest calls of a session. A client is named without its version. */
function readCalls(text: string) {
  return callsSchema.parse(JSON.parse(text)).map(({ losses: ofReply, tries, client, ...call }) => ({
    ...call,
    client: /^[^\s/]+/.exec(client ?? '')?.[0] ?? '',
    losses: [...(ofReply ?? []), ...(tries?.at(-1)?.losses ?? [])],
  }));
}

type SessionCall = ReturnType<typeof readCalls>[number];
type Reply = Replies['GET /admin/sessions'];
type Lost = Reply['losses'][number];

/** `cache_control`, of `messages[3].content[0].cache_control`. */
function nameField(path: string): string {
  const named = path.split(/[.[\]]/).filter((part) => /\D/.test(part));
  return named.at(-1) ?? path;
}

const nameLoss = ({ path, code }: z.output<typeof lossSchema>): string => `${nameField(path)} ${code}`;

/** What clients lost at providers, the most frequent first, each with a call that shows it. */
function countLosses(calls: readonly SessionCall[]): Lost[] {
  const counted = new Map<string, Lost>();
  for (const { call, client, provider, losses: lost } of calls) {
    const named = new Map(lost.map((each) => [nameLoss(each), each]));
    for (const [name, { path, code, reason }] of named) {
      const id = JSON.stringify([client, provider, name]);
      const { calls: times, example } = counted.get(id) ?? { calls: 0, example: call };
      const field = nameField(path);
      counted.set(id, { client, provider, field, code, reason, calls: times + 1, example });
    }
  }
  return [...counted.values()].toSorted((one, other) => other.calls - one.calls).slice(0, mostLosses);
}

const listNames = (calls: readonly SessionCall[], name: 'client' | 'model' | 'provider'): string[] =>
  [...new Set(calls.map((call) => call[name]))].filter(Boolean);

export const sessionOperations = [
  defineOperation({
    route: 'GET /admin/sessions',
    summary: 'Show the dearest sessions of agents in a range, or values of another tag',
    details:
      'Sums are of the whole range. Clients, models and losses are those of the newest calls of each ' +
      `session (${newest}), as long as calls are stored.`,
    roles: roles.read,
    input: checkPeriod(
      z.strictObject({
        ...period,
        tag: z.string().min(1).max(64).default('session'),
        limit: buildNumberSchema(1, 200).default(100),
      }),
    ),
    async run({ store, flush }, { tag, limit, ...stated }) {
      await flush?.();
      const { from: asked = Infinity, to: end = Date.now() } = stated;
      if (end - asked > longestRange)
        throw buildParamError('from', 'a list of sessions spans at most 31 days');
      const range = computeRange({ ...stated, by: 'tag', tag, top: limit });
      const { from, to, unit } = range;
      const rows = await store.sumCalls({ ...range, by: 'tag', tag, top: limit, isTopOnly: true });
      const sums = Map.groupBy(rows, ({ name }) => name ?? '');
      const tagged = await store.listTagged({ tags: [...sums.keys()], limit: newest });
      const known = new Map(
        tagged.map(({ tag: name, first, calls }) => [name, { first, calls: readCalls(calls) }]),
      );
      const all = [...known.values()].flatMap(({ calls }) => calls);
      const keyNames = await readKeyNames(store, [...new Set(all.map(({ key }) => key))]);
      const data = [...sums].map(([name, own]) => {
        const { first, calls = [] } = known.get(name) ?? {};
        const [last] = calls;
        const { uses, first_event_ms: _, ...totals } = computeTotals(own);
        return {
          tag: name,
          name: name.slice(tag.length + 1),
          ...totals,
          uses,
          // Calls are deleted after the retention, and sums stay.
          first: toIso(first),
          last: toIso(last?.ended ?? Math.max(...own.map(({ start }) => start))),
          account: last?.account ?? null,
          key: last?.key ?? null,
          key_name: keyNames.get(last?.key ?? ''),
          clients: listNames(calls, 'client'),
          models: listNames(calls, 'model'),
          losses: countLosses(calls).length,
        };
      });
      const others = Math.max(0, (rows[0]?.names ?? 0) - data.length);
      return { from: toIso(from), to: toIso(to), tag, step: unit, others, data, losses: countLosses(all) };
    },
  }),
];
