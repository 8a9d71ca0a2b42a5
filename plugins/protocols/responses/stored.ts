/**
 * Responses and conversations that the gateway keeps for an account, in tables beside the ledger, where every
 * process finds them. What clients said and models answered is compressed and sealed. Ids, accounts, sizes
 * and times are in plain text, since the tables are searched by them.
 */
import { randomInt } from 'node:crypto';
import { promisify } from 'node:util';
import { zstdCompress, zstdDecompress } from 'node:zlib';
import type { TableDeclaration, TableRow, Tables, TableStatement, TableValue } from '../../../core/index.ts';
import type { KeyRing } from '../../shared/key-ring.ts';

export const declaration: TableDeclaration = {
  name: 'responses',
  migrations: [
    // Times are in milliseconds since the epoch. `process` and `beat` are those of a running response.
    `CREATE TABLE plugin_responses_kept (account text NOT NULL, id text NOT NULL, expires bigint NOT NULL,
      bytes bigint NOT NULL, state text NOT NULL, process text, beat bigint, request text NOT NULL,
      reply text NOT NULL, PRIMARY KEY (account, id))`,
    'CREATE INDEX plugin_responses_kept_by_age ON plugin_responses_kept (expires)',
    'CREATE INDEX plugin_responses_kept_by_account ON plugin_responses_kept (account, expires, bytes)',
    'CREATE INDEX plugin_responses_kept_by_process ON plugin_responses_kept (process)',
    `CREATE TABLE plugin_responses_items (account text NOT NULL, owner text NOT NULL, place bigint NOT NULL,
      item text NOT NULL, body text NOT NULL, PRIMARY KEY (account, owner, place))`,
    'CREATE INDEX plugin_responses_items_by_name ON plugin_responses_items (account, item)',
    'ALTER TABLE plugin_responses_kept ADD COLUMN maker text',
    'CREATE INDEX plugin_responses_kept_by_maker ON plugin_responses_kept (maker)',
  ],
};

/** A row has one state: that of its response, or `conversation`. */
export const runningStates: ReadonlySet<string> = new Set(['queued', 'in_progress']);
export const conversationState = 'conversation';

/** Items that one query looks up by name. The last one fills the places that are left. */
const perQuery = 32;
const names = Array.from({ length: perQuery }, (_, index) => `$${index + 3}`).join(', ');

const ofRow = 'account = $1 AND id = $2';
const running = `state IN ('queued', 'in_progress')`;

const sql = {
  begin: `
    INSERT INTO plugin_responses_kept (account, id, expires, bytes, state, process, beat, request, reply,
      maker)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (account, id) DO NOTHING RETURNING id`,
  find: `
    SELECT state, beat, request, reply FROM plugin_responses_kept WHERE ${ofRow} AND expires > $3`,
  listItems: `
    SELECT item, body FROM plugin_responses_items WHERE account = $1 AND owner = $2 ORDER BY place`,
  findItems: `
    SELECT items.item, items.body, kept.id, kept.expires FROM plugin_responses_items AS items
    JOIN plugin_responses_kept AS kept ON kept.account = items.account AND kept.id = items.owner
    WHERE items.account = $1 AND kept.expires > $2 AND items.item IN (${names})`,
  addItem: `
    INSERT INTO plugin_responses_items (account, owner, place, item, body) VALUES ($1, $2, $3, $4, $5)`,
  dropItem:
    'DELETE FROM plugin_responses_items WHERE account = $1 AND owner = $2 AND item = $3 RETURNING item',
  dropItems: 'DELETE FROM plugin_responses_items WHERE account = $1 AND owner = $2',
  drop: `DELETE FROM plugin_responses_kept WHERE ${ofRow} RETURNING id`,
  grow: `
    UPDATE plugin_responses_kept SET bytes = bytes + $3, expires = $4
    WHERE ${ofRow} AND state = 'conversation' AND expires > $5 AND bytes + $3 <= $6 RETURNING id`,
  use: `UPDATE plugin_responses_kept SET expires = $3 WHERE ${ofRow} AND expires < $3`,
  describe: `UPDATE plugin_responses_kept SET reply = $3, expires = $4 WHERE ${ofRow} RETURNING id`,
  advance: `
    UPDATE plugin_responses_kept SET state = $3 WHERE ${ofRow} AND ${running} RETURNING id`,
  finish: `
    UPDATE plugin_responses_kept SET state = $3, reply = $4, bytes = bytes + $5, process = NULL, beat = NULL
    WHERE ${ofRow} AND ${running} RETURNING id`,
  beat: 'UPDATE plugin_responses_kept SET beat = $2 WHERE process = $1 RETURNING account, id, state',
  eraseItems: 'DELETE FROM plugin_responses_items WHERE account = $1',
  listOfAccount: 'SELECT account, id FROM plugin_responses_kept WHERE account = $1 LIMIT 100',
  listOfKey: 'SELECT account, id FROM plugin_responses_kept WHERE maker = $1 LIMIT 100',
};

/** When the newest expires that is beyond a limit. */
function buildCutQuery(where: string): string {
  return `
    SELECT max(expires) AS cut FROM (
      SELECT expires, sum(bytes) OVER newest AS held, row_number() OVER newest AS place
      FROM plugin_responses_kept ${where} WINDOW newest AS (ORDER BY expires DESC, account, id)
    ) AS ranked WHERE held > $1 OR place > $2`;
}

function buildDrops(where: string): readonly string[] {
  const due = `FROM plugin_responses_kept WHERE expires <= $1 ${where}`;
  return [
    `DELETE FROM plugin_responses_items WHERE (account, owner) IN (SELECT account, id ${due})`,
    `DELETE ${due}`,
  ];
}

function buildDrop(account: string, id: string): TableStatement[] {
  return [sql.dropItems, sql.drop].map((text) => ({ sql: text, values: [account, id] }));
}

/** How much may be kept. */
export interface Bounds {
  readonly responses: number;
  readonly bytes: number;
}

export interface Limits {
  /** Milliseconds since a response was kept or used last. */
  readonly age: number;
  readonly perAccount: Bounds;
  readonly inAll: Bounds;
}

/** One kept item: the client's name for it, and its JSON text. */
export interface Item {
  readonly id: string;
  readonly text: string;
}

export interface Entry {
  readonly account: string;
  readonly id: string;
  readonly state: string;
  /** The body of the request, with all that it referred to. Empty for a conversation. */
  readonly request: string | Uint8Array;
  /** The response or conversation, with no items in it. */
  readonly reply: string;
  /** Bytes as `computeSize` counts them. */
  readonly bytes: number;
  /** The process that runs it. */
  readonly process?: string;
  /** The key that made it. */
  readonly key?: string;
}

export interface Found {
  readonly state: string;
  /** When its process was seen last; undefined if none runs it. */
  readonly beat: number | undefined;
  readonly reply: string;
  /** Opens the body of the request. */
  readRequest(): Promise<string>;
}

/** Bytes of a response or conversation. Larger ones are not kept. */
export const largest = 16 * 1024 * 1024;
/** Bytes for which an item counts beyond its text, so that thousands of small ones take no long time. */
const perItem = 4096;

/** The bytes of a response before compression, with its request. */
export function computeSize(
  request: { readonly length: number },
  reply: { readonly length: number },
  items: readonly Item[],
): number {
  return request.length + reply.length + items.length * perItem;
}

/** Items to seal or to open in one turn of the event loop: each takes up to 0.2 ms. */
const perTurn = 500;

async function mapInTurns<Given, Made>(
  items: readonly Given[],
  map: (item: Given) => Promise<Made>,
): Promise<Made[]> {
  const made: Made[][] = [];
  for (let from = 0; from < items.length; from += perTurn)
    made.push(await Promise.all(items.slice(from, from + perTurn).map(map)));
  return made.flat();
}

const [compress, decompress] = [promisify(zstdCompress), promisify(zstdDecompress)];

/** Ids come from clients and vendors. PostgreSQL takes no text with a null character. */
export function isId(id: unknown): id is string {
  return typeof id === 'string' && /^[\w.:-]{1,200}$/.test(id);
}

export class Stored {
  readonly limits: Limits;
  readonly #tables: Tables;
  readonly #ring: () => KeyRing;
  /** Places grow with time, and differ between processes that write at once. */
  readonly #offset = BigInt(randomInt(100_000));
  #lastPlace = 0n;

  constructor(tables: Tables, ring: () => KeyRing, limits: Limits) {
    this.#tables = tables;
    this.#ring = ring;
    this.limits = limits;
  }

  /** Keeps a response that has ended, in one transaction. */
  async keep(entry: Entry, items: readonly Item[]): Promise<void> {
    const { account, id } = entry;
    const [row, added] = await Promise.all([this.#seal(entry), this.#sealItems(account, id, items)]);
    // A vendor may give an id twice.
    await this.#tables.write([...buildDrop(account, id), { sql: sql.begin, values: row }, ...added]);
  }

  /** Keeps a response that is to run, or a conversation. False if there is one of this id. */
  async begin(entry: Entry): Promise<boolean> {
    return this.#change(sql.begin, await this.#seal(entry));
  }

  /** Ends a running response. False if it was cancelled or deleted. */
  async finish(entry: Omit<Entry, 'request'>, items: readonly Item[]): Promise<boolean> {
    const { account, id, state, bytes } = entry;
    const [reply, added] = await Promise.all([
      this.#pack(account, `${id} reply`, entry.reply),
      this.#sealItems(account, id, items),
    ]);
    const [ended = []] = await this.#tables.write([
      { sql: sql.finish, values: [account, id, state, reply, bytes] },
      ...added,
    ]);
    if (ended.length === 0 && items.length > 0)
      await this.#tables.write([{ sql: sql.dropItems, values: [account, id] }]);
    return ended.length > 0;
  }

  /** Changes the state of a running response. False if it runs no more. */
  advance(account: string, id: string, state: string): Promise<boolean> {
    return this.#change(sql.advance, [account, id, state]);
  }

  /** Shows that a process lives. Resolves with what it is said to run, and in which states. */
  async beat(process: string): Promise<readonly TableRow[]> {
    const [rows = []] = await this.#tables.write([{ sql: sql.beat, values: [process, Date.now()] }]);
    return rows;
  }

  async find(account: string, id: unknown): Promise<Found | undefined> {
    if (!isId(id)) return undefined;
    const [row] = await this.#tables.read({ sql: sql.find, values: [account, id, Date.now()] });
    if (!row) return undefined;
    const reply = await this.#unpack(account, `${id} reply`, row.reply);
    if (reply === undefined) return undefined;
    return {
      state: String(row.state),
      beat: row.beat === null ? undefined : Number(row.beat),
      reply,
      readRequest: async () => (await this.#unpack(account, `${id} request`, row.request)) ?? '{}',
    };
  }

  /** The output of a response, or what a conversation holds. */
  async listItems(account: string, owner: string): Promise<Item[]> {
    const rows = await this.#tables.read({ sql: sql.listItems, values: [account, owner] });
    return this.#openItems(account, rows);
  }

  /** Items by their ids, of any response or conversation of the account. */
  async findItems(account: string, ids: readonly string[]): Promise<Map<string, string>> {
    const wanted = [...new Set(ids)].filter(isId);
    const found = new Map<string, string>();
    const now = Date.now();
    const late = new Set<string>();
    for (let from = 0; from < wanted.length; from += perQuery) {
      const some = wanted.slice(from, from + perQuery);
      const filled = Array.from({ length: perQuery }, (_, index) => some[index] ?? some[0] ?? '');
      const rows = await this.#tables.read({ sql: sql.findItems, values: [account, now, ...filled] });
      for (const { id, text } of await this.#openItems(account, rows)) found.set(id, text);
      for (const row of rows) if (Number(row.expires) - now < this.limits.age / 2) late.add(String(row.id));
    }
    // A conversation that goes on is not forgotten from its beginning.
    if (late.size > 0) void this.#renew(account, [...late]).catch(() => undefined);
    return found;
  }

  async #renew(account: string, ids: readonly string[]): Promise<void> {
    const expires = Date.now() + this.limits.age;
    await this.#tables.write(ids.map((id) => ({ sql: sql.use, values: [account, id, expires] })));
  }

  /** Adds items to a conversation. False if it would be too large, or there is none of this id. */
  async addItems(account: string, owner: string, items: readonly Item[]): Promise<boolean> {
    const bytes = items.reduce((sum, { text }) => sum + text.length, items.length * perItem);
    if (!isId(owner) || bytes > largest) return false;
    const statements = await this.#sealItems(account, owner, items);
    const now = Date.now();
    const values = [account, owner, bytes, now + this.limits.age, now, largest];
    const isGrown = await this.#change(sql.grow, values);
    if (isGrown) await this.#tables.write(statements);
    return isGrown;
  }

  dropItem(account: string, owner: string, item: string): Promise<boolean> {
    return this.#change(sql.dropItem, [account, owner, item]);
  }

  /** Replaces what a conversation says of itself. */
  async describe(account: string, id: string, text: string): Promise<void> {
    const reply = await this.#pack(account, `${id} reply`, text);
    await this.#change(sql.describe, [account, id, reply, Date.now() + this.limits.age]);
  }

  async drop(account: string, id: string): Promise<boolean> {
    const [, gone = []] = await this.#tables.write(buildDrop(account, id));
    return gone.length > 0;
  }

  /** Deletes what was used longest ago, of an account or of all, if they have more than the limit. */
  async shrink(most: Bounds, leftShare: number, account?: string): Promise<void> {
    const cuts = buildCutQuery(account === undefined ? '' : 'WHERE account = $3');
    const findCut = async (share: number): Promise<unknown> => {
      const bounds = [Math.ceil(most.bytes * share), Math.ceil(most.responses * share)];
      const values = account === undefined ? bounds : [...bounds, account];
      const [row] = await this.#tables.read({ sql: cuts, values });
      return row?.cut ?? undefined;
    };
    if ((await findCut(1)) === undefined) return;
    const cut = await findCut(leftShare);
    if (cut !== undefined) await this.#dropUntil(Number(cut), account);
  }

  /** Deletes what is too old. */
  async sweep(): Promise<void> {
    await this.#dropUntil(Date.now());
  }

  async #dropUntil(time: number, account?: string): Promise<void> {
    const drops = buildDrops(account === undefined ? '' : 'AND account = $2');
    const values = account === undefined ? [time] : [time, account];
    await this.#tables.write(drops.map((text) => ({ sql: text, values })));
  }

  /** Whether a statement changed a row. */
  async #change(text: string, values: readonly TableValue[]): Promise<boolean> {
    const [rows = []] = await this.#tables.write([{ sql: text, values }]);
    return rows.length > 0;
  }

  async #seal({ account, id, state, bytes, process, request, reply, key }: Entry): Promise<TableValue[]> {
    const [asked, answered] = await Promise.all([
      this.#pack(account, `${id} request`, request),
      this.#pack(account, `${id} reply`, reply),
    ]);
    const now = Date.now();
    const beat = process === undefined ? null : now;
    const expires = now + this.limits.age;
    return [account, id, expires, bytes, state, process ?? null, beat, asked, answered, key ?? null];
  }

  async #sealItems(account: string, owner: string, items: readonly Item[]): Promise<TableStatement[]> {
    if (items.length * perItem > largest) throw new Error(`it has ${items.length} items`);
    const bodies = await mapInTurns(items, ({ id, text }) => this.#pack(account, id, text));
    return bodies.map((body, index) => ({
      sql: sql.addItem,
      values: [account, owner, this.#makePlace(), items[index]?.id ?? '', body],
    }));
  }

  #makePlace(): bigint {
    const now = BigInt(Date.now()) * 100_000n + this.#offset;
    this.#lastPlace = now > this.#lastPlace ? now : this.#lastPlace + 1n;
    return this.#lastPlace;
  }

  async #openItems(account: string, rows: readonly TableRow[]): Promise<Item[]> {
    const opened = await mapInTurns(rows, async ({ item, body }) => {
      const id = String(item);
      return { id, text: await this.#unpack(account, id, body) };
    });
    return opened.flatMap(({ id, text }) => (text === undefined ? [] : [{ id, text }]));
  }

  /** `what` is part of the seal, so that no row can take the place of another. */
  async #pack(account: string, what: string, text: string | Uint8Array): Promise<string> {
    return this.#ring().sealText(`responses ${what}`, account, await compress(text));
  }

  /** Undefined if the key that sealed it is gone. */
  async #unpack(account: string, what: string, sealed: unknown): Promise<string | undefined> {
    const bytes = this.#ring().openText(`responses ${what}`, account, String(sealed));
    return bytes && (await decompress(bytes)).toString();
  }
}

/** Deletes some at a time, so that no transaction takes long. Resolves with how many there were. */
async function eraseListed(tables: Tables, listed: string, whose: string): Promise<number> {
  for (let count = 0; ;) {
    const rows = await tables.read({ sql: listed, values: [whose] });
    if (rows.length === 0) return count;
    for (const { account, id } of rows) await tables.write(buildDrop(String(account), String(id)));
    count += rows.length;
  }
}

/** Deletes everything of an account. Resolves with the number of responses and conversations. */
export async function eraseAccount(tables: Tables, account: string): Promise<number> {
  const count = await eraseListed(tables, sql.listOfAccount, account);
  await tables.write([{ sql: sql.eraseItems, values: [account] }]);
  return count;
}

/** Deletes the responses and conversations that keys made. */
export async function eraseKeys(tables: Tables, keys: readonly string[]): Promise<void> {
  for (const key of keys) await eraseListed(tables, sql.listOfKey, key);
}
