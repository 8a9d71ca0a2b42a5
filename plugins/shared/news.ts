/**
 * What gateways with one database learn from each other, such as keys that rest: workers hear it at once, and
 * other gateways within a second, from a table next to the ledger. Each process writes its news into one row,
 * and reads the rows of the others twice a second. No call waits for that, and while the database is away,
 * each process knows what its own calls teach it.
 */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Host, TableDeclaration, Tables } from '../../core/index.ts';

const declaration: TableDeclaration = {
  name: 'news',
  // `at` is in milliseconds since the epoch, and `news` is JSON.
  migrations: [
    'CREATE TABLE plugin_news_rows (process text PRIMARY KEY, at bigint NOT NULL, news text NOT NULL)',
  ],
};

const sql = {
  write: `
    INSERT INTO plugin_news_rows (process, at, news) VALUES ($1, $2, $3)
    ON CONFLICT (process) DO UPDATE SET at = excluded.at, news = excluded.news`,
  read: 'SELECT process, news FROM plugin_news_rows WHERE process <> $1 AND at > $2',
  forget: 'DELETE FROM plugin_news_rows WHERE at < $1',
};

const pause = 500;
/** Milliseconds for which others can still read a piece of news: they may miss some turns. */
const keptFor = 10_000;
/** How many pieces of a topic are kept. When more happens, the oldest are missed. */
const most = 200;
/** A row that has not been written for so long is not read; the clocks of machines may differ by less. */
const longestSilence = 60_000;
/** Rows of processes that ended are deleted after a day. */
const day = 24 * 3600 * 1000;

const piecesSchema = z.array(
  z.object({ number: z.number(), at: z.number(), topic: z.string(), news: z.unknown() }),
);

/** Another version may write something else, and what it hears may have another shape. */
function skipFaults(work: () => void): void {
  try {
    work();
  } catch {
    // The next piece may be one that this version knows.
  }
}

/** `age` is how many milliseconds ago it happened. */
type Listener = (news: unknown, age: number) => unknown;

class Board {
  readonly #process = randomUUID();
  /** By topic, oldest first. */
  readonly #own = new Map<string, z.output<typeof piecesSchema>>();
  readonly #listeners = new Map<string, Set<Listener>>();
  /** The numbers of the last piece, and of the last one that others can read. */
  #last = 0;
  #written = 0;
  /** The number of the last piece heard, by process. */
  #heard = new Map<string, number>();
  #tables: Tables | undefined;
  #exchange: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  add(topic: string, news: unknown): void {
    const at = Date.now();
    this.#last += 1;
    const kept = (this.#own.get(topic) ?? []).filter((piece) => at - piece.at < keptFor);
    this.#own.set(topic, [...kept.slice(1 - most), { number: this.#last, at, topic, news }]);
  }

  hear(topic: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(topic) ?? new Set();
    this.#listeners.set(topic, listeners.add(listener));
    return () => void listeners.delete(listener);
  }

  /** Begins to exchange. A reload of the configuration may bring other tables. */
  useTables(tables: Tables): void {
    this.#tables = tables;
    this.#timer ??= setInterval(() => this.#begin(this.#tables ?? tables), pause).unref();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#exchange;
  }

  /** One exchange at a time. What fails is tried again in the next turn, and the ledger reports why. */
  #begin(tables: Tables): void {
    this.#exchange ??= this.#write(tables)
      .then(() => this.#read(tables))
      .catch(() => undefined)
      .finally(() => void (this.#exchange = undefined));
  }

  async #write(tables: Tables): Promise<void> {
    const [last, at] = [this.#last, Date.now()];
    if (last === this.#written) return;
    const pieces = [...this.#own.values()].flat().toSorted((one, other) => one.number - other.number);
    await tables.write([
      { sql: sql.write, values: [this.#process, at, JSON.stringify(pieces)] },
      { sql: sql.forget, values: [at - day] },
    ]);
    this.#written = last;
  }

  async #read(tables: Tables): Promise<void> {
    const now = Date.now();
    const rows = await tables.read({ sql: sql.read, values: [this.#process, now - longestSilence] });
    const heard = new Map<string, number>();
    for (const row of rows)
      skipFaults(() => {
        const source = String(row.process);
        const before = this.#heard.get(source) ?? 0;
        const fresh = piecesSchema
          .parse(JSON.parse(String(row.news)))
          .filter(({ number }) => number > before);
        heard.set(source, fresh.at(-1)?.number ?? before);
        for (const { at, topic, news } of fresh)
          for (const listener of this.#listeners.get(topic) ?? [])
            skipFaults(() => void listener(news, Math.max(0, now - at)));
      });
    this.#heard = heard;
  }
}

/** News to and from the other workers and the other gateways. */
export type News = ReturnType<typeof openNews>;

/** Call it while the plugin `name` is applied: it is open before what the plugin taps on `ready` itself. */
export function openNews(
  host: Pick<Host, 'hooks' | 'openResource' | 'tables' | 'workers' | 'dataFolder'>,
  name: string,
) {
  const { hooks, openResource, tables, workers, dataFolder } = host;
  let board: Board | undefined;
  const close = (opened: Board): Promise<void> => opened.close();
  hooks.ready.tapPromise(name, async () => {
    if (tables.find('ledger')?.isShared === true)
      board = await openResource('news', { dataFolder }, () => new Board(), close);
  });
  // After the tap that opens the ledger.
  hooks.ready.tapPromise({ name, stage: 10 }, async () => {
    if (board) board.useTables(await tables.get('ledger').open(declaration));
  });
  return {
    /** Whether other processes may listen. */
    hasOthers: () => workers.several || board !== undefined,
    /** Waits for nothing. The news crosses as JSON. */
    notify(topic: string, news: unknown): void {
      workers.notify(topic, news);
      board?.add(topic, news);
    },
    /** The returned function stops listening. Workers that ask the topic get what the listener returns. */
    hear(topic: string, listener: Listener): () => void {
      const stops = [workers.answer(topic, (news) => listener(news, 0)), board?.hear(topic, listener)];
      return () => stops.forEach((stop) => stop?.());
    },
  };
}
