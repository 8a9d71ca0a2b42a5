/**
 * Secrets that a configuration names instead of stating them: `env:NAME`, `file:/path`, or
 * `exec:command with arguments`, which runs without a shell. Each line that is found is a value: the first is
 * used, and the others help while one is replaced. Errors show the reference and never what it refers to.
 */
import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { readSystemCode } from './errors.ts';

/** What each value has to be. */
export type SecretSchema = z.ZodType<string, string>;

/** What a reference refers to now. The first value is used, the others if that one is refused. */
export type SecretValues = readonly [string, ...string[]];

export interface Secret {
  /** The file that holds it, if a file does. */
  readonly file: string | undefined;
  /** A promise only if something has to be read. Rejects if it cannot be read and never could. */
  read(): SecretValues | Promise<SecretValues>;
  /** Reads it again, however new it is: what it said was refused. */
  renew(): Promise<SecretValues>;
}

const run = promisify(execFile);

const longestText = 64 * 1024;
const mostValues = 16;
/** Milliseconds that a command may take. */
const longestRun = 10_000;
/** Milliseconds for which values are used before they are read again. */
const lifetimes = { env: 0, file: 1000, exec: 300_000 } as const;
/** Milliseconds between two readings after a failure, and between two runs of a command. */
const rest = 1000;

/** The values that were read lately, for `listSecrets`. */
const known = new LRUCache<string, true>({ max: 1000 });

export const listReadSecrets = (): readonly string[] => [...known.keys()];

const kinds = ['env', 'file', 'exec'] as const;

function splitReference(text: string) {
  const kind = kinds.find((each) => text.startsWith(`${each}:`));
  return kind && { kind, place: text.slice(kind.length + 1).trim() };
}

export const isReference = (text: string): boolean => splitReference(text) !== undefined;

/** The words of a command. Quotes keep one with spaces together. */
function splitCommand(command: string): string[] {
  return [...command.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([word, ...quoted]) =>
    String(quoted.find((each) => each !== undefined) ?? word),
  );
}

function findFault(text: string): string | undefined {
  const { kind, place } = splitReference(text) ?? {};
  if (kind === 'env' && !/^[A-Za-z_]\w*$/.test(place ?? '')) return 'names no variable: write env:NAME';
  if (kind === 'file' && !isAbsolute(place ?? '')) return 'needs the full path: write file:/run/secrets/name';
  if (kind === 'exec' && !place) return 'names no command: write exec:/usr/bin/command arguments';
  return undefined;
}

/** The schema of a secret that may also be referred to. What a reference says is checked when it is read. */
export function allowReference(schema: SecretSchema) {
  const checked = z.string().superRefine((text, context) => {
    const fault = findFault(text);
    if (fault !== undefined) context.addIssue(fault);
    if (isReference(text)) return;
    for (const { message } of schema.safeParse(text).error?.issues ?? []) context.addIssue(message);
  });
  return checked.meta({ secret: true });
}

async function readPlace(kind: (typeof kinds)[number], place: string): Promise<string> {
  if (kind === 'env') return process.env[place] ?? '';
  if (kind === 'file') {
    const facts = await stat(place);
    // Opening a pipe would wait for its writer.
    if (!facts.isFile()) throw new Error('it is no file');
    if (facts.size > longestText) throw new Error(`it has more than ${longestText} bytes`);
    return readFile(place, 'utf8');
  }
  const [command = '', ...args] = splitCommand(place);
  const limits = { timeout: longestRun, killSignal: 'SIGKILL', maxBuffer: longestText } as const;
  return (await run(command, args, { ...limits, encoding: 'utf8' })).stdout;
}

/** Why a reading failed, without what a command printed: that may be the secret. */
function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  if ('killed' in error && error.killed === true) return `it took longer than ${longestRun / 1000} s`;
  if ('code' in error && typeof error.code === 'number') return `it exited with ${error.code}`;
  return readSystemCode(error) ?? ('cmd' in error ? 'it was ended' : error.message);
}

function readLines(text: string, schema: SecretSchema, none: string): SecretValues {
  const [first, ...others] = text.split('\n').flatMap((line) => line.trim() || []);
  if (first === undefined) throw new Error(none);
  if (others.length >= mostValues) throw new Error(`it has more than ${mostValues} lines`);
  const lines: SecretValues = [first, ...others];
  for (const line of lines) known.set(line, true);
  for (const line of lines)
    for (const { message } of schema.safeParse(line).error?.issues ?? []) throw new Error(message);
  return lines;
}

/**
 * Opens a secret that is stated or referred to. Nothing is read before it is asked for. `warn` hears of a
 * failure while older values can be used.
 */
export function openSecret(
  text: string,
  schema: SecretSchema = z.string(),
  warn: (message: string) => void = () => undefined,
): Secret {
  const at = splitReference(text);
  if (!at) {
    const stated: SecretValues = [text];
    return { file: undefined, read: () => stated, renew: async () => stated };
  }
  const { kind, place } = at;
  let values: SecretValues | undefined;
  let fault: Error | undefined;
  let readAt = -Infinity;
  let reading: Promise<SecretValues> | undefined;

  async function readNow(wait: number): Promise<SecretValues> {
    await sleep(Math.max(0, wait));
    try {
      const none = kind === 'env' ? 'it is not set' : 'it is empty';
      values = readLines(await readPlace(kind, place), schema, none);
      fault = undefined;
    } catch (error) {
      const message = `the secret ${kind}:${place} cannot be read: ${describeFailure(error)}`;
      if (!fault && values) warn(`${message}; what it said before is used`);
      fault = new Error(message);
      if (!values) throw fault;
    } finally {
      readAt = performance.now();
    }
    return values;
  }

  const load = (wait: number): Promise<SecretValues> =>
    (reading ??= readNow(wait).finally(() => (reading = undefined)));
  return {
    file: kind === 'file' ? place : undefined,
    read() {
      const isFresh = performance.now() - readAt < (fault ? rest : lifetimes[kind]);
      if (isFresh && !values && fault) return Promise.reject(fault);
      const latest = isFresh && values ? values : load(0);
      // A command may take long, and what it said before is probably still right.
      return kind === 'exec' ? (values ?? latest) : latest;
    },
    renew: () => load(kind === 'exec' ? readAt + rest - performance.now() : 0),
  };
}
