/**
 * People who signed in, with their sessions in browsers and on devices, in tables beside the ledger, where
 * every process finds them. Of cookies and tokens only hashes are stored. A device that waits for its person
 * is a session without one, and its code is one of its tokens. A session ends when its row is deleted, or
 * when its person is no longer active.
 */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { TableDeclaration, TableRow, Tables, TableStatement } from '../../../core/index.ts';
import { roleNames } from '../../shared/operations.ts';
import { createSecret, hashSecret } from '../../shared/secret.ts';

export const declaration: TableDeclaration = {
  name: 'sign_in',
  migrations: [
    // Times are in milliseconds since the epoch. `checked` is when the identity provider last knew the
    // person, `asked` when it was last asked; `refresh` is what it is asked with, sealed. `suspended` lists
    // keys that were disabled because the person left, and `author` is who changed the state.
    `CREATE TABLE plugin_sign_in_people (id text PRIMARY KEY, subject text NOT NULL, holder text NOT NULL,
      name text NOT NULL, role text NOT NULL, accounts text NOT NULL, state text NOT NULL, refresh text,
      checked bigint NOT NULL, asked bigint NOT NULL, suspended text, author text NOT NULL,
      created bigint NOT NULL)`,
    'CREATE INDEX plugin_sign_in_people_by_check ON plugin_sign_in_people (checked)',
    // `sid` is the identity provider's session. Only devices have a `client`, which people recognise, and the
    // `handle` of the key that they use, unless they were refused.
    `CREATE TABLE plugin_sign_in_sessions (id text PRIMARY KEY, person text, sid text, handle text,
      client text, ends bigint NOT NULL)`,
    'CREATE INDEX plugin_sign_in_sessions_by_person ON plugin_sign_in_sessions (person)',
    'CREATE INDEX plugin_sign_in_sessions_by_sid ON plugin_sign_in_sessions (sid)',
    `CREATE TABLE plugin_sign_in_tokens (hash text PRIMARY KEY, session text NOT NULL, ends bigint NOT NULL,
      used bigint)`,
    'CREATE INDEX plugin_sign_in_tokens_by_session ON plugin_sign_in_tokens (session)',
    'CREATE TABLE plugin_sign_in_logouts (jti text PRIMARY KEY, ends bigint NOT NULL)',
  ],
};

/** `refused`: the identity provider no longer knows the person. `removed`: an operator removed them. */
const states = ['active', 'refused', 'removed'] as const;

const jsonTexts = z.string().transform((text) => z.array(z.string()).parse(JSON.parse(text)));

const personSchema = z.object({
  id: z.string(),
  subject: z.string(),
  holder: z.string(),
  name: z.string(),
  role: z.enum(roleNames),
  accounts: jsonTexts,
  state: z.enum(states),
  refresh: z.string().nullable(),
  checked: z.coerce.number(),
  asked: z.coerce.number(),
  suspended: jsonTexts.nullable(),
  author: z.string(),
  created: z.coerce.number(),
});
export type PersonRow = z.output<typeof personSchema>;

const sessionSchema = personSchema.extend({
  session: z.string(),
  sid: z.string().nullable(),
  handle: z.string().nullable(),
  ends: z.coerce.number(),
  used: z.coerce.number().nullable(),
});
export type SessionRow = z.output<typeof sessionSchema>;

const deviceSchema = z.object({
  session: z.string(),
  person: z.string().nullable(),
  client: z.string(),
  used: z.coerce.number().nullable(),
});

/** What an identity provider says about a person. */
export type Known = Pick<PersonRow, 'id' | 'subject' | 'holder' | 'name' | 'role' | 'accounts' | 'refresh'>;

const people = 'plugin_sign_in_people';
const sessions = 'plugin_sign_in_sessions';
const tokens = 'plugin_sign_in_tokens';
/** What is read of a session with its person. */
const opened = 'people.*, sessions.id AS session, sessions.sid, sessions.handle, sessions.ends';
const joined = `${sessions} AS sessions JOIN ${people} AS people ON people.id = sessions.person`;

const sql = {
  // A person keeps the holder of the first time: keys name it. Who was removed stays so.
  admit: `
    INSERT INTO ${people} AS known (id, subject, holder, name, role, accounts, refresh, state, checked, asked,
      created, author) VALUES ($1, $2, $3, $4, $5, $6, $7, 'active', $8, $8, $8, $3)
    ON CONFLICT (id) DO UPDATE SET
      name = excluded.name, role = excluded.role, accounts = excluded.accounts,
      refresh = CASE WHEN known.state = 'refused' THEN excluded.refresh
        ELSE coalesce(excluded.refresh, known.refresh) END,
      checked = excluded.checked, asked = excluded.asked,
      state = CASE WHEN known.state = 'removed' THEN known.state ELSE 'active' END,
      author = CASE WHEN known.state = 'refused' THEN known.holder ELSE known.author END
    RETURNING *`,
  list: `SELECT * FROM ${people} WHERE id > $1 ORDER BY id LIMIT $2`,
  find: `SELECT * FROM ${people} WHERE id = $1 OR holder = $1 OR name = $1 ORDER BY id LIMIT 2`,
  // Of several processes one asks.
  claim: `UPDATE ${people} SET asked = $2 WHERE id = $1 AND asked <= $3 AND state = 'active' RETURNING *`,
  due: `
    SELECT * FROM ${people} WHERE state = 'active' AND refresh IS NOT NULL AND checked < $1 AND asked < $2
    ORDER BY checked LIMIT $3`,
  unsettled: `
    SELECT * FROM ${people} WHERE (state = 'active') = (suspended IS NOT NULL) ORDER BY id LIMIT $1`,
  erase: `DELETE FROM ${people} WHERE holder = $1`,
  eraseSessions: `DELETE FROM ${sessions} WHERE person IN (SELECT id FROM ${people} WHERE holder = $1)`,
  setState: `UPDATE ${people} SET state = $2, author = $3 WHERE id = $1`,
  noteCheck: `UPDATE ${people} SET checked = $2, refresh = coalesce($3, refresh) WHERE id = $1`,
  setSuspended: `UPDATE ${people} SET suspended = $2 WHERE id = $1`,
  start: `INSERT INTO ${sessions} (id, person, sid, ends) VALUES ($1, $2, $3, $4)`,
  addToken: `INSERT INTO ${tokens} (hash, session, ends) VALUES ($1, $2, $3)`,
  open: `
    SELECT ${opened}, tokens.used FROM ${joined} JOIN ${tokens} AS tokens ON tokens.session = sessions.id
    WHERE tokens.hash = $1 AND tokens.ends > $2 AND sessions.ends > $2 AND people.state = 'active'`,
  // The first use counts, for what may be used once.
  use: `UPDATE ${tokens} SET used = $2, ends = $3 WHERE hash = $1 AND used IS NULL`,
  end: `DELETE FROM ${sessions} WHERE `,
  endOnce: ' AND NOT EXISTS (SELECT jti FROM plugin_sign_in_logouts WHERE jti = $2)',
  askForDevice: `
    INSERT INTO ${sessions} (id, client, ends) SELECT $1, $2, $3
    WHERE (SELECT count(*) FROM ${sessions} WHERE person IS NULL) < $4 RETURNING id`,
  findDevice: `
    SELECT session, person, client, used FROM ${tokens} AS tokens
    JOIN ${sessions} AS sessions ON sessions.id = session WHERE hash = $1 AND tokens.ends > $2`,
  answer: `
    UPDATE ${sessions} SET person = $2, sid = $3, handle = $4, ends = $5
    WHERE id = $1 AND person IS NULL AND ends > $6 RETURNING id`,
  poll: `UPDATE ${tokens} SET used = $2 WHERE hash = $1`,
  take: `DELETE FROM ${tokens} WHERE hash = $1 RETURNING session`,
  noteLogout: `
    INSERT INTO plugin_sign_in_logouts (jti, ends) VALUES ($1, $2)
    ON CONFLICT (jti) DO NOTHING RETURNING jti`,
};

/** What ended is deleted, tokens a while later: a second use of one is a theft. */
const sweeps = [
  `DELETE FROM ${tokens} WHERE ends < $1 OR session NOT IN (SELECT id FROM ${sessions})`,
  `DELETE FROM ${sessions} WHERE ends < $1`,
  'DELETE FROM plugin_sign_in_logouts WHERE ends < $1',
];

/** Which sessions end: one, those of a person, or those of a session at the identity provider. */
interface Whose {
  readonly by: 'id' | 'person' | 'sid';
  readonly value: string;
}

interface NewSession {
  readonly person: string;
  readonly sid: string | null;
  readonly ends: number;
}

/** Milliseconds of a token for calls. */
const tokenAge = 900_000;
/** Milliseconds for which a renewal may be used again: several processes of a client share one. */
const grace = 60_000;
/** Milliseconds for which a used renewal is known, and a later use of it ends the session. */
const remembered = 24 * 3_600_000;
/** Devices that wait at once. */
const mostDevices = 1000;

function addToken(secret: string, session: string, ends: number): TableStatement {
  return { sql: sql.addToken, values: [hashSecret(secret), session, ends] };
}

export class People {
  readonly #tables: Tables;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  async #read<Row>(schema: z.ZodType<Row>, text: string, ...values: TableStatement['values'] & object) {
    return z.array(schema).parse(await this.#tables.read({ sql: text, values }));
  }

  async #write(text: string, ...values: TableStatement['values'] & object): Promise<readonly TableRow[]> {
    const [rows = []] = await this.#tables.write([{ sql: text, values }]);
    return rows;
  }

  /** Stores what the identity provider says now. Undefined if an operator has removed the person. */
  async admit({ id, subject, holder, name, role, accounts, refresh }: Known): Promise<PersonRow | undefined> {
    const values = [id, subject, holder, name, role, JSON.stringify(accounts), refresh, Date.now()];
    const [row] = await this.#write(sql.admit, ...values);
    const person = personSchema.parse(row);
    return person.state === 'removed' ? undefined : person;
  }

  list(after: string, limit: number): Promise<PersonRow[]> {
    return this.#read(personSchema, sql.list, after, limit);
  }

  /** The people with this id, holder or name; two are enough to know that it is not unique. */
  find(wanted: string): Promise<PersonRow[]> {
    return this.#read(personSchema, sql.find, wanted);
  }

  /** The person, if no process has asked the identity provider about them within a time. */
  async claim(id: string, since: number): Promise<PersonRow | undefined> {
    const [row] = await this.#write(sql.claim, id, Date.now(), Date.now() - since);
    return row && personSchema.parse(row);
  }

  /** People about whom the identity provider was last asked before a time, successfully or at all. */
  listDue(checked: number, asked: number, limit: number): Promise<PersonRow[]> {
    return this.#read(personSchema, sql.due, checked, asked, limit);
  }

  /** People whose keys are still enabled although they left, or disabled although they are back. */
  listUnsettled(limit: number): Promise<PersonRow[]> {
    return this.#read(personSchema, sql.unsettled, limit);
  }

  async setSuspended(id: string, keys: readonly string[] | null): Promise<void> {
    await this.#write(sql.setSuspended, id, keys && JSON.stringify(keys));
  }

  /** Notes that the identity provider still knows the person, and said no more. */
  async noteCheck(id: string, refresh: string | null): Promise<void> {
    await this.#write(sql.noteCheck, id, Date.now(), refresh);
  }

  /** A person who is not active has no sessions. */
  async setState(id: string, state: PersonRow['state'], author: string): Promise<void> {
    await this.#write(sql.setState, id, state, author);
    if (state !== 'active') await this.end({ by: 'person', value: id });
  }

  /** Starts a session in a browser, and returns its cookie. */
  async start({ person, sid, ends }: NewSession): Promise<string> {
    const [id, cookie] = [randomUUID(), createSecret('browser')];
    const begin = { sql: sql.start, values: [id, person, sid, ends] };
    await this.#tables.write([begin, addToken(cookie, id, ends)]);
    return cookie;
  }

  /** Makes a token for calls, which never outlives its session, and a renewal of it. */
  async issue({ session, ends }: SessionRow, before: readonly TableStatement[] = []) {
    const [access, refresh] = [createSecret('access'), createSecret('refresh')];
    const until = Math.min(ends, Date.now() + tokenAge);
    await this.#tables.write([...before, addToken(access, session, until), addToken(refresh, session, ends)]);
    return { access, refresh, until };
  }

  /** The session of a cookie or token; undefined if it has ended. */
  async open(secret: string): Promise<SessionRow | undefined> {
    const [row] = await this.#read(sessionSchema, sql.open, hashSecret(secret), Date.now());
    return row;
  }

  /**
   * Renews a session once, and again within a short while. A later use of the same renewal means that it was
   * stolen: then the session ends, and the result is undefined.
   */
  async renew(secret: string, session: SessionRow) {
    const [{ used }, now] = [session, Date.now()];
    if (used !== null && now - used > grace) {
      await this.end({ by: 'id', value: session.session });
      return undefined;
    }
    const values = [hashSecret(secret), now, now + remembered];
    return this.issue(session, [{ sql: sql.use, values }]);
  }

  /** Their tokens open nothing any more, and are swept away. */
  async end({ by, value }: Whose): Promise<void> {
    await this.#write(`${sql.end}${by} = $1`, value);
  }

  /** Ends sessions because of a logout. False if that was noted before: then it ends none. */
  async logOut({ by, value }: Whose, jti: string, ends: number): Promise<boolean> {
    const [, noted = []] = await this.#tables.write([
      { sql: `${sql.end}${by} = $1${sql.endOnce}`, values: [value, jti] },
      { sql: sql.noteLogout, values: [jti, ends] },
    ]);
    return noted.length > 0;
  }

  /** False if too many devices wait. Rejects if another has the code. */
  async askForDevice(secret: string, code: string, client: string, ends: number): Promise<boolean> {
    const id = randomUUID();
    const [made = []] = await this.#tables.write([
      { sql: sql.askForDevice, values: [id, client, ends, mostDevices] },
      ...[secret, code].map((each) => addToken(each, id, ends)),
    ]);
    return made.length > 0;
  }

  /** The device that waits with this code. */
  async findDevice(code: string) {
    const [device] = await this.#read(deviceSchema, sql.findDevice, hashSecret(code), Date.now());
    return device?.person === null ? device : undefined;
  }

  /** A person's answer to a waiting device, which is no if there is no key; false if it no longer waits. */
  async answer(device: string, { person, sid, ends }: NewSession, handle: string | null): Promise<boolean> {
    return (await this.#write(sql.answer, device, person, sid, handle, ends, Date.now())).length > 0;
  }

  /** What a device that polls waits for, as it was before; undefined if it has waited too long. */
  async poll(secret: string) {
    const [hash, now] = [hashSecret(secret), Date.now()];
    const [rows] = await this.#tables.write([
      { sql: sql.findDevice, values: [hash, now] },
      { sql: sql.poll, values: [hash, now] },
    ]);
    return z.array(deviceSchema).parse(rows)[0];
  }

  /** Ends the wait. Of several processes one gets the device. */
  async take(secret: string): Promise<boolean> {
    return (await this.#write(sql.take, hashSecret(secret))).length > 0;
  }

  /** Deletes what is known of a person. Who signs in again is new. */
  async erase(holder: string): Promise<void> {
    const values = [holder];
    await this.#tables.write([
      { sql: sql.eraseSessions, values },
      { sql: sql.erase, values },
    ]);
  }

  async sweep(): Promise<void> {
    const values = [Date.now()];
    await this.#tables.write(sweeps.map((text) => ({ sql: text, values })));
  }
}
