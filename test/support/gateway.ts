/**
 * A whole gateway on loopback for one test: real sockets and a real ledger, with its data in a folder that is
 * removed afterwards.
 */
import { rmSync } from 'node:fs';
import { pino } from 'pino';
import { z } from 'zod';
import { checkConfig, type ConfigInput } from '../../core/config.ts';
import { createGateway } from '../../core/gateway.ts';
import { definePlugin, type End, type PluginFactory } from '../../core/index.ts';
import { openServer } from '../../core/server.ts';
import { closeInTime } from './closing.ts';
import { makeFolder } from './folder.ts';

export interface TestGateway {
  readonly url: string;
  readonly dataFolder: string;
  /** Every end that `observe` received, in order. */
  readonly ends: readonly End[];
  /** The notices that plugins printed at the start. */
  readonly printed: readonly string[];
  /** What went to the log, line by line. */
  readonly log: readonly string[];
  /** Runs a command of the command line on the same data. */
  verb(name: string, args?: readonly string[], options?: Record<string, string | boolean>): Promise<unknown>;
  /** Makes a key by the command for it, and returns its secret. */
  newKey(options: Record<string, string>): Promise<string>;
  /** Resolves when `count` ends were observed. */
  ended(count: number): Promise<readonly End[]>;
  close(): Promise<void>;
}

/** Short waits before retries, and a budget that earlier tests cannot use up. */
const retries: ConfigInput['retries'] = { base: 0.01, share: 10 };

const keySchema = z.object({ key: z.string() });

/** Starts a gateway with these settings; `plugins` come before the watcher that fills `ends`. */
export async function startGateway(input: ConfigInput): Promise<TestGateway> {
  const dataFolder = input.dataFolder ?? makeFolder();
  const log: string[] = [];
  const ends: End[] = [];
  const waiting = new Set<() => void>();
  const watcher: PluginFactory<z.ZodObject> = definePlugin({
    name: 'watcher',
    options: z.strictObject({}),
    apply(host) {
      host.hooks.observe.tapPromise('watcher', async (end) => {
        ends.push(end);
        for (const check of waiting) check();
      });
    },
  });
  const logger = pino(
    { level: 'debug', errorKey: 'error' },
    { write: (line: string | Uint8Array) => void log.push(Buffer.from(line).toString()) },
  );
  const config = checkConfig(
    {
      ...input,
      dataFolder,
      retries: { ...retries, ...input.retries },
      server: { port: 0, ...input.server },
      plugins: [...input.plugins, watcher()],
    },
    'test',
  );
  const gateway = createGateway(config, logger);
  await gateway.open().catch(async (error: unknown) => {
    await gateway.close();
    throw error;
  });
  const listening = await openServer(gateway, config.server);
  async function verb(
    name: string,
    args: readonly string[] = [],
    options: Record<string, string | boolean> = {},
  ): Promise<unknown> {
    const command = [...gateway.commands.list()].find(
      (known) => known.name === name || known.name.startsWith(`${name} `),
    );
    if (!command) throw new Error(`no verb "${name}"`);
    return (await command.run(args, options, () => undefined)).json;
  }
  return {
    url: listening.url,
    dataFolder,
    printed: gateway.notes,
    ends,
    log,
    verb,
    newKey: async (options) => keySchema.parse(await verb('keys create', [], options)).key,
    ended: (count) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (ends.length < count) return;
          waiting.delete(check);
          resolve(ends);
        };
        waiting.add(check);
        check();
      }),
    close: closeInTime(async () => {
      await listening.close();
      await gateway.close();
      if (!input.dataFolder) rmSync(dataFolder, { recursive: true, force: true });
    }),
  };
}
