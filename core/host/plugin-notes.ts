/** What plugins say about themselves while they are applied, and the errors that name them. */
import type { Logger } from 'pino';
import type { Host, Plugin } from '../plugin.ts';
import type { ClientAddress } from '../protocol.ts';
import { ConfigError, getMessage } from '../util/errors.ts';
import { toPluginError, describeReason } from '../util/plugin-error.ts';
import { openSecret, type Secret } from '../util/secret-references.ts';

export interface Example {
  readonly line: string;
  readonly output: 'text' | 'image';
}

export interface PluginNotes {
  /** Lines to print at the start. */
  readonly notes: string[];
  readonly examples: Example[];
  readonly addresses: ClientAddress[];
  /** Plugins that are off, each with what switches it on. */
  readonly off: Map<string, string>;
  /** Data files that plugins read. A change reloads the configuration. */
  readonly files: Set<string>;
  readonly checks: (() => void)[];
  /** The secrets that plugins have opened. */
  readonly secrets: Secret[];
}

export function createNotes(): PluginNotes {
  return {
    notes: [],
    examples: [],
    addresses: [],
    off: new Map(),
    files: new Set(),
    checks: [],
    secrets: [],
  };
}

export function takeNotes(
  { notes, examples, addresses, off, files, checks, secrets }: PluginNotes,
  plugin: Plugin,
  file: string,
  logger: Logger,
): Pick<
  Host,
  'onApplied' | 'watchFile' | 'openSecret' | 'addNote' | 'noteOff' | 'addAddress' | 'addExample'
> {
  return {
    openSecret(text, schema) {
      const secret = openSecret(text, schema, (message) => logger.warn(message));
      secrets.push(secret);
      return secret;
    },
    onApplied: (check) => void checks.push(() => runNamed(plugin, 'onApplied', file, check)),
    watchFile: (read) => void files.add(read),
    addNote: (line) => void notes.push(line),
    noteOff(remedy) {
      off.set(plugin.name, remedy);
      logger.debug(`off: ${remedy} to switch it on`);
    },
    addAddress: (address) => void addresses.push(address),
    addExample: (line, output = 'text') => void examples.push({ line, output }),
  };
}

/** Reads all secrets. Returns why some cannot be read. */
export async function findUnreadable({ secrets }: PluginNotes): Promise<string[]> {
  const read = await Promise.allSettled(secrets.map(async (secret) => secret.read()));
  return [...new Set(read.flatMap((each) => (each.status === 'rejected' ? getMessage(each.reason) : [])))];
}

export function runNamed(plugin: Plugin, what: string, file: string, action: () => unknown): void {
  try {
    const result = action();
    if (!(result instanceof Promise)) return;
    // A later rejection would end the process.
    result.catch(() => undefined);
    throw new Error(
      `"${what}" returned a promise, which is not awaited; put slow work into the hook "ready"`,
    );
  } catch (error) {
    throw toConfigError(file, toPluginError(plugin.name, error));
  }
}

export function toConfigError(file: string, error: unknown): ConfigError {
  return new ConfigError(`${file}: ${describeReason(error)}`, { cause: error });
}

export function nameFile(file: string, check: () => void): void {
  try {
    check();
  } catch (error) {
    throw toConfigError(file, error);
  }
}
