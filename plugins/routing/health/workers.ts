/** What workers tell each other when an operator looks at providers, or takes one out of service. */
import { z } from 'zod';
import type { Workers } from '../../../core/index.ts';
import type { HealthBook, TargetHealth } from './book.ts';
import { holdSchema, placeSchema } from './holds.ts';
import { pastErrorSchema } from './record.ts';

const topics = { rows: 'health:rows', holds: 'health:holds', change: 'health:change' };

/** One target as one worker sees it. */
const rowSchema = z.object({
  provider: z.string(),
  key: z.number(),
  model: z.string(),
  state: z.enum(['well', 'resting', 'failing', 'testing']),
  until: z.number().optional(),
  reason: z.object({ code: z.string(), message: z.string() }).optional(),
  attempts: z.number(),
  failed: z.number(),
  retries: z.number(),
  firstEvents: z.array(z.number()),
  errors: z.array(pastErrorSchema),
});

export type Row = z.output<typeof rowSchema>;

const changeSchema = z.union([z.object({ hold: holdSchema }), z.object({ wake: placeSchema })]);

/** An operator's decision about a place. */
export type Decision = z.output<typeof changeSchema>;

function toRow({ provider, key, model, condition, record }: TargetHealth): Row {
  const { name: state, until, reason } = condition.state;
  const { attempts, failed, retries, firstEvents, errors } = record;
  return {
    provider,
    key,
    model,
    state,
    ...(until === undefined ? {} : { until }),
    ...(reason ? { reason: { code: reason.code, message: reason.message } } : {}),
    attempts,
    failed,
    retries,
    firstEvents,
    errors: [...errors],
  };
}

function decide(book: HealthBook, decision: Decision): true {
  if ('hold' in decision) book.holds.add(decision.hold);
  else book.wake(decision.wake);
  return true;
}

/** Answers the other workers, and learns from them what is held now. Returns what ends the answering. */
export async function shareBook(workers: Workers, book: () => HealthBook): Promise<(() => void)[]> {
  const stops = [
    workers.answer(topics.rows, () => book().known.map(toRow)),
    workers.answer(topics.holds, () => book().holds.list()),
    workers.answer(topics.change, (decision) => decide(book(), changeSchema.parse(decision))),
  ];
  const held = z.array(holdSchema).safeParse(await workers.askForFirstAnswer(topics.holds, {}));
  for (const hold of held.data ?? []) book().holds.add(hold);
  return stops;
}

/** Carries out a decision here and in all other workers. */
export async function decideForAll(workers: Workers, book: HealthBook, decision: Decision): Promise<void> {
  decide(book, decision);
  await workers.askForAllAnswers(topics.change, decision);
}

/** The rows of all workers, and how many workers there are. */
export async function collectRows(
  workers: Workers,
  book: HealthBook,
): Promise<{ rows: Row[]; workers: number }> {
  const others = z.array(z.array(rowSchema)).parse(await workers.askForAllAnswers(topics.rows, {}));
  return { rows: [...book.known.map(toRow), ...others.flat()], workers: others.length + 1 };
}
