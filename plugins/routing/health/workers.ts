/**
 * What workers, and gateways that share a database, tell each other: which targets rest, and what an operator
 * takes out of service. Workers also tell each other what an operator sees of providers.
 */
import { z } from 'zod';
import { errorCodes, GatewayError, type Host, type Workers } from '../../../core/index.ts';
import type { News } from '../../shared/news.ts';
import { pastErrorSchema, type HealthBook, type Rest, type TargetHealth } from './book.ts';
import { holdSchema, placeSchema, writeHolds } from './holds.ts';

const topics = { rest: 'health', rows: 'health:rows', holds: 'health:holds', change: 'health:change' };

/** What reaches the others, and where decisions of operators are kept. */
export interface Line extends Pick<Host, 'catalog' | 'workers' | 'dataFolder' | 'logger'> {
  readonly news: News;
}

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

const restSchema = z.object({
  provider: z.string(),
  credential: z.number().optional(),
  model: z.string(),
  milliseconds: z.number(),
  code: z.enum(errorCodes),
  message: z.string(),
});

function toRow(target: TargetHealth): Row {
  return rowSchema.parse({ ...target, ...target.condition.describe() });
}

/** Applies a decision in this process, and keeps it for the next start. */
function applyDecision(line: Line, book: HealthBook, decision: Decision): Promise<void> {
  if ('hold' in decision) book.holds.add(decision.hold);
  else book.wake(decision.wake);
  return writeHolds(line, book.holds);
}

/** Carries a decision out here, in all other workers, and soon in all other gateways. */
export async function decideForAll(line: Line, book: HealthBook, decision: Decision): Promise<void> {
  const written = applyDecision(line, book, decision);
  await line.workers.askForAllAnswers(topics.change, decision);
  line.news.notify(topics.change, decision);
  await written;
}

/**
 * Returns what reports that a target is full, barred or failing: it rests everywhere, so that each process
 * need not discover it. Each discovers a recovery by its own calls.
 */
export function createReporter(news: News): Rest {
  return ({ provider: { name, credential }, model }, milliseconds, { code, message }) => {
    if (!news.hasOthers()) return;
    const rest = { provider: name, credential, model: model.id, milliseconds, code, message };
    news.notify(topics.rest, rest satisfies z.output<typeof restSchema>);
  };
}

/** Answers the others, and learns from them what is held now and what rests later. The result ends that. */
export async function joinOthers(line: Line, getBook: () => HealthBook): Promise<() => void> {
  const { workers, news, catalog } = line;
  const stops = [
    workers.answer(topics.rows, () => getBook().known.map(toRow)),
    workers.answer(topics.holds, () => getBook().holds.list()),
    news.hear(topics.change, (decision) => {
      void applyDecision(line, getBook(), changeSchema.parse(decision));
      return true;
    }),
    news.hear(topics.rest, (said, age) => {
      const { provider, credential, model, milliseconds, code, message } = restSchema.parse(said);
      const target = catalog
        .find(model)
        .find((offer) => offer.provider.name === provider && offer.provider.credential === credential);
      if (!target || milliseconds <= age) return;
      const { condition } = getBook().targets.getEntry(target);
      condition.startRest(milliseconds - age, new GatewayError(code, message));
    }),
  ];
  const held = z.array(holdSchema).safeParse(await workers.askForFirstAnswer(topics.holds, {}));
  for (const hold of held.data ?? []) getBook().holds.add(hold);
  return () => stops.forEach((stop) => stop());
}

/** The rows of all workers, and how many workers there are. */
export async function collectRows(
  workers: Workers,
  book: HealthBook,
): Promise<{ rows: Row[]; workers: number }> {
  const others = z.array(z.array(rowSchema)).parse(await workers.askForAllAnswers(topics.rows, {}));
  return { rows: [...book.known.map(toRow), ...others.flat()], workers: others.length + 1 };
}
