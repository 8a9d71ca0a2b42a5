/**
 * What gateways with one database learn from each other, such as keys that rest: workers hear it at once, and
 * other gateways within a second, from a table next to the ledger. Each process writes a row for each topic
 * when it has news, and reads the rows of the others twice a second. No call waits for that, and while the
 * database is away, each process knows what its own calls teach it.
 */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Host, TableDeclaration, Tables } from '../../core/index.ts';

const declaration: TableDeclaration = {
  name: 'news',
  migrations: [
    // `at` is in milliseconds since the epoch, and `news` is JSON.
    `CREATE TABLE plugin_news_rows (process text, topic text, at bigint NOT NULL, news text NOT NULL,
      PRIMARY KEY (process, topic))`,
  ],
};

const sql = {
  write: `
    INSERT INTO plugin_news_rows (process, topic, at, news) VALUES ($1, $2, $3, $4)
    ON CONFLICT (process, topic) DO UPDATE SET at = excluded.at, news = excluded.news`,
  read: 'SELECT process, topic, news FROM plugin_news_rows WHERE process <> $1 AND at > $2',
  forget: 'DELETE FROM plugin_news_rows WHERE at < $1',
};

const pause = 500;
/** Milliseconds for which others can still read a piece of news: they may miss some turns. */
const keptFor = 10_000;
/** How many pieces of a topic are kept. When more happens, the oldest are missed. */
const most = 200;
/** A row that has not been written for so long is not read; the clocks of machines may differ by less. */
const longestSilence = 60_000;
/** Rows of processes that ended are deleted by the next start after a day. */
const day = 24 * 3600 * 1000;

const pieceSchema = z.object({ number: z.number(), at: z.number(), news: z.unknown() });
const rowSchema = z.object({
  process: z.string(),
  topic: z.string(),
  news: z.string().transform((text) => z.array(pieceSchema).parse(JSON.parse(text))),
});

type Piece = z.output<typeof pieceSchema>;
/** `age` is how many milliseconds ago it happened. */
type Listener = (news: unknown, age: number) => unknown;

class Board {
  readonly #process = randomUUID();
  #tables: Tables | undefined;
  #last = 0;
  readonly #own = new Map<string, readonly Piece[]>();
  readonly #unwritten = new Set<string>();
  readonly #listeners = new Map<string, Set<Listener>>();
  /** The number of the last piece heard, by process and topic. */
  #heard = new Map<string, number>();
  #exchange: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  add(topic: string, news: unknown): void {
    const at = Date.now();
    this.#last += 1;
    const kept = (this.#own.get(topic) ?? []).filter((piece) => at - piece.at < keptFor);
    this.#own.set(topic, [...kept.slice(1 - most), { number: this.#last, at, news }]);
    this.#unwritten.add(topic);
  }

  hear(topic: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(topic) ?? new Set();
    this.#listeners.set(topic, listeners.add(listener));
    return () => void listeners.delete(listener);
  }

  /** Begins to exchange. A reload of the configuration may bring other tables. */
  async useTables(tables: Tables): Promise<void> {
    this.#tables = tables;
    if (this.#timer) return;
    this.#timer = setInterval(() => this.#begin(tables), pause).unref();
    await tables.write([{ sql: sql.forget, values: [Date.now() - day] }]);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#exchange;
  }

  /** One exchange at a time. What fails is tried again in the next turn, and the ledger reports why. */
  #begin(tables: Tables): void {
    this.#exchange ??= this.#write(this.#tables ?? tables)
      .then(() => this.#read(this.#tables ?? tables))
      .catch(() => undefined)
      .finally(() => void (this.#exchange = undefined));
  }

  async #write(tables: Tables): Promise<void> {
    if (this.#unwritten.size === 0) return;
    const at = Date.now();
    const topics = [...this.#unwritten];
    const statements = topics.map((topic) => {
      const news = JSON.stringify(this.#own.get(topic) ?? []);
      return { sql: sql.write, values: [this.#process, topic, at, news] };
    });
    this.#unwritten.clear();
    try {
      await tables.write(statements);
    } catch (error) {
      for (const topic of topics) this.#unwritten.add(topic);
      throw error;
    }
  }

  async #read(tables: Tables): Promise<void> {
    const now = Date.now();
    const rows = await tables.read({ sql: sql.read, values: [this.#process, now - longestSilence] });
    const heard = new Map<string, number>();
    for (const row of rows) {
      // Another version may write something else.
      const { data } = rowSchema.safeParse(row);
      if (!data) continue;
      const source = `${data.process} ${data.topic}`;
      const before = this.#heard.get(source) ?? 0;
      const fresh = data.news.filter(({ number }) => number > before);
      heard.set(source, fresh.at(-1)?.number ?? before);
      for (const { news, at } of fresh) this.#pass(data.topic, news, Math.max(0, now - at));
    }
    this.#heard = heard;
  }

  #pass(topic: string, news: unknown, age: number): void {
    for (const listener of this.#listeners.get(topic) ?? []) {
      try {
        listener(news, age);
      } catch {
        // News of another version, in another shape.
      }
    }
  }
}

/** News to and from the other workers and the other gateways. */
export interface News {
  /** Whether there may be anybody to notify. */
  readonly several: boolean;
  /** Waits for nothing. The news crosses as JSON. */
  notify(topic: string, news: unknown): void;
  /** The returned function stops listening. Workers that ask the topic get what the listener returns. */
  hear(topic: string, listener: Listener): () => void;
}

/** Call it while the plugin `name` is applied: it is open before what the plugin taps on `ready` itself. */
export function openNews(
  host: Pick<Host, 'hooks' | 'openResource' | 'tables' | 'workers' | 'dataFolder'>,
  name: string,
): News {
  const { hooks, openResource, tables, workers, dataFolder } = host;
  let board: Board | undefined;
  hooks.ready.tapPromise(name, async () => {
    if (tables.find('ledger')?.isShared !== true) return;
    board = await openResource(
      'news',
      { dataFolder },
      () => new Board(),
      (opened) => opened.close(),
    );
  });
  // After the tap that opens the ledger.
  hooks.ready.tapPromise({ name, stage: 10 }, async () => {
    if (board) await board.useTables(await tables.get('ledger').open(declaration));
  });
  return {
    get several() {
      return workers.several || board !== undefined;
    },
    notify(topic, news) {
      workers.notify(topic, news);
      board?.add(topic, news);
    },
    hear(topic, listener) {
      const stops = [workers.answer(topic, (news) => listener(news, 0)), board?.hear(topic, listener)];
      return () => stops.forEach((stop) => stop?.());
    },
  };
}
