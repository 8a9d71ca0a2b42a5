/**
 * The verbs of operations. A verb reads what was typed as the input of its operation, asks first if it cannot
 * be taken back, runs it in this process or with `--url` on a gateway elsewhere, and formats the reply.
 */
import { userInfo } from 'node:os';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import {
  errorCodes,
  getMessage,
  GatewayError,
  isGatewayError,
  openSecret,
  type Command,
  type CommandOption,
  type CommandResult,
} from '../../core/index.ts';
import { isChange, listParams, splitRoute, takesQuery, type Asked, type Operation } from './operations.ts';
import { readInput } from './operator-routes.ts';
import type { Replies, RouteName } from './replies/routes.ts';

export type Fields = Readonly<Record<string, unknown>>;

/** What an option or an argument sets in the input. */
export interface Flag {
  /** Arguments have none. */
  readonly description?: string;
  /** With dots; the name of the flag unless given. `''`: `read` gives several fields. */
  readonly field?: string;
  /** Makes a value of what was typed. What it does not understand stays as it is, and is refused. */
  readonly read?: (typed: string | true) => unknown;
}

/** Options, and arguments written `<usd>`, by their form in commander's syntax; a text is a description. */
export type Flags = Readonly<Record<string, string | Flag>>;

/** What was typed for a verb. */
export interface Typed {
  /** The arguments in their order. */
  readonly words: readonly string[];
  readonly args: Readonly<Record<string, string>>;
  readonly options: Readonly<Record<string, string | boolean | undefined>>;
  /** What arguments and options say for the input of an operation. */
  readonly input: Fields;
}

/** What a verb works with: operations in this process, or on a gateway elsewhere. */
export interface OperatorClient<Context> {
  call<Name extends RouteName>(operation: Operation<Context, Name>, asked?: Asked): Promise<Replies[Name]>;
  /** Prints a line before the result, or with `--json` the value it is about. */
  readonly print: (line: string, value: unknown) => void;
}

export interface Verb<Context> extends Pick<Command, 'description'> {
  readonly flags?: Flags;
  /** Whether it may create the ledger. Other verbs fail without one. */
  readonly creates?: true;
  /** What it asks before it runs, unless `--yes` is given; undefined: nothing. */
  ask?(client: OperatorClient<Context>, typed: Typed): Promise<string | undefined>;
  run(client: OperatorClient<Context>, typed: Typed): Promise<CommandResult>;
}

/** Verbs by their names, with their arguments. */
export type Verbs<Context> = Readonly<Record<string, Verb<Context>>>;

/** A verb that runs one operation. */
export interface VerbRow<Context, Reply> extends Pick<Verb<Context>, 'flags' | 'creates' | 'ask'> {
  /** The summary of the operation unless given. */
  readonly description?: string;
  /** Fields of the input that were not typed. */
  readonly input?: Fields;
  /** Completes or checks what was typed. */
  complete?(input: Fields, client: OperatorClient<Context>): Fields | Promise<Fields>;
  /** Whether it reads all pages of a list. */
  readonly all?: true;
  format(reply: Reply): string;
  /** Whether the reply is a fault: the verb exits with 1. */
  isFault?(reply: Reply): boolean;
}

export const yesFlag: CommandOption = { flags: '--yes', description: 'do it without a question' };
const urlFlag: CommandOption = {
  flags: '--url <url>',
  description: 'run it on the gateway whose admin listener is there, with the key in TOLLGATE_OPERATOR_KEY',
};

/** The user who runs a command, by number if the system has no name for it, as in some containers. */
export function findCommandAuthor(): string {
  try {
    return `cli:${userInfo().username}`;
  } catch {
    return `cli:${process.getuid?.() ?? 'unknown'}`;
  }
}

/** The first line that is typed; undefined if the input ends. */
async function readAnswer(): Promise<string | undefined> {
  // The terminal edits the line itself, and Ctrl-C ends the command.
  const lines = createInterface({ input: process.stdin, terminal: false });
  try {
    for await (const line of lines) return line.trim();
    return undefined;
  } finally {
    // A terminal that is still read keeps the process.
    process.stdin.destroy();
  }
}

/** Asks on the terminal, since the command cannot be taken back. Throws unless the answer is yes. */
export async function requireConfirmation(question: string): Promise<void> {
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw new Error(`${question} There is no terminal to ask on: add --yes to do it.`);
  process.stderr.write(`${question} [y/N] `);
  if (!/^y(es)?$/i.test((await readAnswer()) ?? '')) throw new Error('nothing was changed');
}

/** An option that takes names with commas between. */
export function buildListFlag(names: string): Flag {
  return {
    description: `comma-separated ${names}`,
    read: (typed) => (typed === true ? typed : typed.split(',')),
  };
}

/** An option that takes a number. Other text stays as it is, so that it is refused. */
export function buildCountFlag(description: string): Flag {
  return { description, read: (typed) => (/^\d+$/.test(String(typed)) ? Number(typed) : typed) };
}

/** `none` as null, which removes a limit. */
export function allowNone(read: NonNullable<Flag['read']> = (typed) => typed): NonNullable<Flag['read']> {
  return (typed) => (typed === 'none' ? null : read(typed));
}

/** What an option is called where options are read: `--spend-cap <usd>` is `spendCap`. */
function nameOption(text: string): string | undefined {
  return /^--([\w-]+)/.exec(text)?.[1]?.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** Options for the fields of an object in the input. `none` is null, which removes what one says. */
export function nestFlags(object: string, flags: Flags): Flags {
  const nested = Object.entries(flags).map(([text, stated]) => {
    const { field = nameOption(text), read, ...flag } = toFlag(stated);
    return [text, { ...flag, field: `${object}.${field}`, read: allowNone(read) }] as const;
  });
  return Object.fromEntries(nested);
}

interface Place {
  /** As it is written on the command line. */
  readonly text: string;
  readonly field: string;
  readonly typed: string | true | undefined;
  readonly read: Flag['read'];
}

/** The names of a verb's arguments. */
function listWords(name: string): string[] {
  return [...name.matchAll(/[<[](\w+)[>\]]/g)].map(([, word = '']) => word);
}

function toFlag(stated: string | Flag = {}): Flag {
  return typeof stated === 'string' ? { description: stated } : stated;
}

/** Where the fields of a verb's input are typed: its arguments and its options. */
function listPlaces({ name, flags = {} }: Named, args: Typed['args'], options: Typed['options']): Place[] {
  const places = listWords(name).map((word) => {
    const { field = word, read } = toFlag(flags[`<${word}>`]);
    return { text: `<${word}>`, field, typed: args[word], read };
  });
  const typed = Object.entries(flags).flatMap(([text, stated]) => {
    const option = nameOption(text);
    if (option === undefined) return [];
    const { field, read } = toFlag(stated);
    const [flag = text] = text.split(' ');
    const value = options[option];
    return { text: flag, field: field ?? option, typed: value === false ? undefined : value, read };
  });
  return [...places, ...typed];
}

interface Named extends Pick<Verb<never>, 'flags'> {
  readonly name: string;
}

export function setField(fields: Fields, [name = '', ...rest]: readonly string[], value: unknown): Fields {
  if (name === '') return { ...fields, ...z.record(z.string(), z.unknown()).parse(value) };
  const { [name]: inner } = fields;
  const isNested = typeof inner === 'object' && inner !== null;
  return { ...fields, [name]: rest.length > 0 ? setField(isNested ? { ...inner } : {}, rest, value) : value };
}

function readTyped(verb: Named, typed: readonly string[], options: Typed['options']): Typed {
  const given = listWords(verb.name).slice(0, typed.length);
  const args = Object.fromEntries(given.map((word, index) => [word, typed[index] ?? '']));
  let input: Fields = {};
  for (const { field, typed: text, read } of listPlaces(verb, args, options))
    if (text !== undefined) input = setField(input, field.split('.'), read ? read(text) : text);
  return { words: typed, args, options, input };
}

/** The error in the words of the command line, or the same error if it names no field. */
function rewordError(error: unknown, verb: Named, { args, options }: Typed): unknown {
  if (!isGatewayError(error)) return error;
  const places = listPlaces(verb, args, options).toSorted(
    (one, other) => other.field.length - one.field.length,
  );
  const findPlace = (path: string): Place | undefined =>
    places.find(({ field }) => field === '' || path === field || path.startsWith(`${field}.`));
  const { message, cause, details } = error;
  if (cause instanceof z.ZodError) {
    const lines = cause.issues.map((issue) => {
      const path = issue.path.join('.');
      const place = findPlace(path);
      if (!place) return [path, issue.message].filter(Boolean).join(': ');
      const isMissing = place.text.startsWith('--') && place.typed === undefined;
      return `${place.text}${isMissing ? ' is missing' : ''}: ${issue.message}`;
    });
    return new Error([...new Set(lines)].join('; '), { cause });
  }
  const { param = '' } = details;
  const place = message.startsWith(`${param}: `) ? findPlace(param) : undefined;
  return place ? new Error(place.text + message.slice(param.length), { cause: error }) : error;
}

function isPage(reply: unknown): reply is { readonly data: readonly unknown[]; readonly next: unknown } {
  return typeof reply === 'object' && reply !== null && 'data' in reply && 'next' in reply;
}

/** Rows of the largest page. */
const limit = 1000;

/** A list with the rows of all its pages: the API has pages, and a terminal needs none. */
export async function callAll<Reply>(call: (page: Fields) => Promise<Reply>): Promise<Reply> {
  const first = await call({ limit });
  if (!isPage(first)) return first;
  const data = [...first.data];
  for (let { next } = first; next !== null;) {
    const page = await call({ limit, after: next });
    if (!isPage(page)) break;
    for (const row of page.data) data.push(row);
    ({ next } = page);
  }
  return { ...first, data, next: null };
}

/** What `--json` prints of a reply: of a list its rows. */
function toJson(reply: unknown): unknown {
  return typeof reply === 'object' && reply !== null && 'data' in reply ? reply.data : reply;
}

/** A verb that runs one operation. */
function toVerb<Context, Name extends RouteName>(
  operation: Operation<Context, Name>,
  {
    input: fixed,
    complete,
    all,
    ask,
    format,
    isFault,
    description,
    flags = {},
    ...row
  }: VerbRow<Context, Replies[Name]>,
): Verb<Context> {
  const { summary, csv, route, input: schema } = operation;
  const named = new Set(listParams(route));
  const prepare = async (
    client: OperatorClient<Context>,
    { args, input: { csv: _csv, ...typed } }: Typed,
  ) => {
    const params = Object.fromEntries(Object.entries(args).filter(([name]) => named.has(name)));
    const fields = Object.entries({ ...fixed, ...typed }).filter(([name]) => !named.has(name));
    const input = Object.fromEntries(fields);
    return { params, input: complete ? await complete(input, client) : input };
  };
  return {
    ...row,
    description: description ?? summary.charAt(0).toLowerCase() + summary.slice(1),
    flags: csv ? { ...flags, '--csv': 'as CSV' } : flags,
    ...(ask && {
      async ask(client, typed) {
        // What is wrong is refused before it is asked about.
        if (schema) readInput(schema, (await prepare(client, typed)).input);
        return ask(client, typed);
      },
    }),
    async run(client, typed) {
      const { params, input } = await prepare(client, typed);
      const call = (page: Fields): Promise<Replies[Name]> =>
        client.call(operation, { params, input: { ...input, ...page } });
      const reply = await (all ? callAll(call) : call({}));
      const text = csv && typed.options.csv === true ? csv.format(reply).trimEnd() : format(reply);
      return { json: toJson(reply), text, failed: isFault?.(reply) ?? false };
    },
  };
}

/** The verbs that are declared with operations. */
export function listVerbs<Context>(operations: readonly Operation<Context>[]): Verbs<Context> {
  const verbs = operations.flatMap((operation) =>
    Object.entries(operation.verbs).map(([name, row]) => [name, toVerb(operation, row)] as const),
  );
  return Object.fromEntries(verbs);
}

/** What the verbs of this process work with. */
export interface Opened<Context> {
  /** `changes`: the operation changes something. */
  getContext(changes: boolean): Context;
  close(): Promise<void>;
}

const errorReply = z.object({
  error: z.object({ code: z.enum(errorCodes), message: z.string(), param: z.string().nullable() }),
});

/** The URL of an operation on a gateway elsewhere, and what is sent there. */
function buildRequest(base: string, route: RouteName, { params = {}, input }: Asked): [URL, RequestInit] {
  const { method, path } = splitRoute(route);
  const named = path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
  if (!URL.canParse(base)) throw new Error(`--url is no URL: ${base}`);
  const url = new URL(base.replace(/\/$/, '') + named);
  if (!takesQuery(route)) return [url, { method, body: JSON.stringify(input ?? {}) }];
  for (const [name, value] of Object.entries(input ?? {}))
    if (value !== undefined) url.searchParams.set(name, String(value));
  return [url, { method }];
}

/** Runs operations on the gateway whose admin listener has this URL. */
function createRemote<Context>(base: string): OperatorClient<Context>['call'] {
  const stated = process.env.TOLLGATE_OPERATOR_KEY;
  if (!stated) throw new Error('--url needs the key of an operator in TOLLGATE_OPERATOR_KEY');
  return async (operation, asked = {}) => {
    if (operation.input) readInput(operation.input, asked.input);
    const [url, request] = buildRequest(base, operation.route, asked);
    const [key] = await openSecret(stated).read();
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const response = await fetch(url, { ...request, headers }).catch((error: unknown) => {
      const cause = error instanceof Error ? (error.cause ?? error) : error;
      throw new Error(`${base} could not be reached: ${getMessage(cause)}`, { cause });
    });
    if (response.ok && operation.file) return operation.file.receive(response);
    const body: unknown = await response.json().catch(() => undefined);
    if (!response.ok) throw readError(base, response.status, body);
    const { replies } = await import('./replies/routes.ts');
    return replies[operation.route].parse(body);
  };
}

function readError(base: string, status: number, body: unknown): Error {
  const { data } = errorReply.safeParse(body);
  if (!data)
    return new Error(`${base} replied with status ${status}: is it the admin listener of a gateway?`);
  const { code, message, param } = data.error;
  return new GatewayError(code, message, param === null ? {} : { param });
}

/** What all verbs with a first word in common are for, by that word. */
type Groups = Readonly<Record<string, string>>;

/** The commands of verbs. `open` opens what they work with in this process. */
export function buildCommands<Context>(
  verbs: Verbs<Context>,
  open: (verb: Verb<Context> & Named, typed: Typed) => Promise<Opened<Context>>,
  groups: Groups = {},
): Command[] {
  const named = Object.entries(verbs).map(([name, verb]) => ({ ...verb, name }));
  return named.map((verb) => ({
    name: verb.name,
    description: verb.description,
    group: groups[verb.name.split(' ')[0] ?? ''],
    options: [
      ...Object.entries(verb.flags ?? {}).flatMap(([flags, stated]) => {
        const { description = '' } = toFlag(stated);
        return flags.startsWith('--') ? [{ flags, description }] : [];
      }),
      ...(verb.ask ? [yesFlag] : []),
      urlFlag,
    ],
    async run(args, { yes, url, ...options }, print) {
      const typed = readTyped(verb, args, options);
      const opened = typeof url === 'string' ? undefined : await open(verb, typed);
      const call: OperatorClient<Context>['call'] = opened
        ? (operation, asked = {}) => operation.run(opened.getContext(isChange(operation)), asked)
        : createRemote(String(url));
      try {
        const question = yes === true ? undefined : await verb.ask?.({ call, print }, typed);
        if (question !== undefined) await requireConfirmation(question);
        return await verb.run({ call, print }, typed);
      } catch (error) {
        throw rewordError(error, verb, typed);
      } finally {
        await opened?.close();
      }
    },
  }));
}
