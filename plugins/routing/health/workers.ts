/**
 * What workers, and gateways that share a database, tell each other: which targets rest, and what an operator
 * takes out of service. Workers also tell each other what an operator sees of providers.
 */
import { z } from 'zod';
import { errorCodes, GatewayError, type Host, type Workers } from '../../../core/index.ts';
import type { News } from '../../shared/news.ts';
import type { Named } from '../../shared/routing/per-target.ts';
import { pastErrorSchema, type HealthBook, type Rest, type TargetHealth } from './book.ts';
import { holdSchema, placeSchema } from './holds.ts';

const topics = { rest: 'health', rows: 'health:rows', holds: 'health:holds', change: 'health:change' };

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
  return { provider, key, model, ...record, ...condition.describe() };
}

function decide(book: HealthBook, decision: Decision): void {
  if ('hold' in decision) book.holds.add(decision.hold);
  else book.wake(decision.wake);
}

/** Answers the other workers, and learns from them what is held now. Returns what ends the answering. */
export async function shareBook(workers: Workers, book: () => HealthBook): Promise<(() => void)[]> {
  const stops = [
    workers.answer(topics.rows, () => book().known.map(toRow)),
    workers.answer(topics.holds, () => book().holds.list()),
  ];
  const held = z.array(holdSchema).safeParse(await workers.askForFirstAnswer(topics.holds, {}));
  for (const hold of held.data ?? []) book().holds.add(hold);
  return stops;
}

/** Carries out what is decided elsewhere, and then calls `onDecided`. The result stops listening. */
export function hearDecisions(news: News, book: () => HealthBook, onDecided: () => void): () => void {
  return news.hear(topics.change, (decision) => {
    decide(book(), changeSchema.parse(decision));
    onDecided();
    return true;
  });
}

/** Carries out a decision here, in all other workers, and soon in all other gateways. */
export async function decideForAll(
  { workers, news }: { readonly workers: Workers; readonly news: News },
  book: HealthBook,
  decision: Decision,
): Promise<void> {
  decide(book, decision);
  await workers.askForAllAnswers(topics.change, decision);
  news.notify(topics.change, decision);
}

/** The rows of all workers, and how many workers there are. */
export async function collectRows(
  workers: Workers,
  book: HealthBook,
): Promise<{ rows: Row[]; workers: number }> {
  const others = z.array(z.array(rowSchema)).parse(await workers.askForAllAnswers(topics.rows, {}));
  return { rows: [...book.known.map(toRow), ...others.flat()], workers: others.length + 1 };
}

const newsSchema = z.object({
  provider: z.string(),
  credential: z.number().optional(),
  model: z.string(),
  milliseconds: z.number(),
  code: z.enum(errorCodes),
  message: z.string(),
});

/**
 * Reports that a target is full, barred or failing: it rests everywhere, so that each process need not
 * discover it. Each discovers a recovery by its own calls.
 */
export function passOn(
  news: News,
  { provider: { name, credential }, model }: Named,
  milliseconds: number,
  { code, message }: GatewayError,
): void {
  if (!news.several) return;
  const rest = { provider: name, credential, model: model.id, milliseconds, code, message };
  news.notify(topics.rest, rest satisfies z.output<typeof newsSchema>);
}

/**
 * Calls `rest` for each target that another process says should rest, for what is left of it. The returned
 * function stops listening.
 */
export function hear(news: News, catalog: Host['catalog'], rest: Rest): () => void {
  return news.hear(topics.rest, (said, age) => {
    const { provider, credential, model, milliseconds, code, message } = newsSchema.parse(said);
    const target = catalog
      .find(model)
      .find((offer) => offer.provider.name === provider && offer.provider.credential === credential);
    if (target && milliseconds > age) rest(target, milliseconds - age, new GatewayError(code, message));
  });
}
