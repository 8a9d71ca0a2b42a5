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
import { z } from 'zod';

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

const kinds = ['env', 'file', 'exec'] as const;
type Kind = (typeof kinds)[number];

/** The values that were read lately, for `listSecrets`. */
const known = new Set<string>();
const mostKnown = 1000;

export const listReadSecrets = (): readonly string[] => [...known];

function remember(values: readonly string[]): void {
  for (const value of values) {
    known.delete(value);
    known.add(value);
  }
  for (const oldest of known) {
    if (known.size <= mostKnown) break;
    known.delete(oldest);
  }
}

interface Split {
  readonly kind: Kind;
  readonly place: string;
}

function splitReference(text: string): Split | undefined {
  const kind = kinds.find((each) => text.startsWith(`${each}:`));
  return kind && { kind, place: text.slice(kind.length + 1).trim() };
}

export function isReference(text: string): boolean {
  return splitReference(text) !== undefined;
}

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

async function readPlace({ kind, place }: Split): Promise<string> {
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
  const { code, killed } = z
    .object({ code: z.union([z.string(), z.number()]).nullish(), killed: z.boolean().optional() })
    .catch({})
    .parse({ ...error });
  if (killed) return `it took longer than ${longestRun / 1000} s`;
  if (typeof code === 'number') return `it exited with ${code}`;
  return code ?? ('cmd' in error ? 'it was ended' : error.message);
}

/** Hears of a failure while older values can be used. */
type Warn = (message: string) => void;

class Reference implements Secret {
  readonly file: string | undefined;
  readonly #at: Split;
  readonly #schema: SecretSchema;
  readonly #warn: Warn;
  #values: SecretValues | undefined;
  #fault: Error | undefined;
  #readAt = -Infinity;
  #reading: Promise<SecretValues> | undefined;

  constructor(at: Split, schema: SecretSchema, warn: Warn) {
    this.file = at.kind === 'file' ? at.place : undefined;
    this.#at = at;
    this.#schema = schema;
    this.#warn = warn;
  }

  read(): SecretValues | Promise<SecretValues> {
    const isFresh = performance.now() - this.#readAt < (this.#fault ? rest : lifetimes[this.#at.kind]);
    if (isFresh && this.#values) return this.#values;
    if (isFresh && this.#fault) return Promise.reject(this.#fault);
    const reading = this.#load(0);
    // A command may take long, and what it said before is probably still right.
    if (this.#at.kind !== 'exec' || !this.#values) return reading;
    reading.catch(() => undefined);
    return this.#values;
  }

  renew(): Promise<SecretValues> {
    return this.#load(this.#at.kind === 'exec' ? this.#readAt + rest - performance.now() : 0);
  }

  #load(wait: number): Promise<SecretValues> {
    this.#reading ??= sleep(Math.max(0, wait))
      .then(() => this.#readNow())
      .finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  async #readNow(): Promise<SecretValues> {
    try {
      this.#values = await this.#readValues();
      this.#fault = undefined;
      return this.#values;
    } catch (error) {
      const { kind, place } = this.#at;
      const message = `the secret ${kind}:${place} cannot be read: ${describeFailure(error)}`;
      if (!this.#fault && this.#values) this.#warn(`${message}; what it said before is used`);
      this.#fault = new Error(message);
      if (this.#values) return this.#values;
      throw this.#fault;
    } finally {
      this.#readAt = performance.now();
    }
  }

  async #readValues(): Promise<SecretValues> {
    const text = await readPlace(this.#at);
    const lines = text.split('\n').flatMap((line) => line.trim() || []);
    const [first, ...others] = lines;
    if (first === undefined) throw new Error(this.#at.kind === 'env' ? 'it is not set' : 'it is empty');
    if (others.length >= mostValues) throw new Error(`it has more than ${mostValues} lines`);
    remember(lines);
    for (const line of lines)
      for (const { message } of this.#schema.safeParse(line).error?.issues ?? []) throw new Error(message);
    return [first, ...others];
  }
}

/** Opens a secret that is stated or referred to. Nothing is read before it is asked for. */
export function openSecret(
  text: string,
  schema: SecretSchema = z.string(),
  warn: Warn = () => undefined,
): Secret {
  const reference = splitReference(text);
  if (reference) return new Reference(reference, schema, warn);
  const values: SecretValues = [text];
  return { file: undefined, read: () => values, renew: async () => values };
}
