/**
 * The configuration: one TypeScript file whose imports are the inventory. Reading it checks it, before
 * anything runs. An error names the file, the plugin, the option and the options there are.
 */
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import type { Middleware } from 'koa';
import { z } from 'zod';
import { computeBodyLimits } from './http/bodies.ts';
import { computeMostConnections } from './http/open-files.ts';
import { computeRepliesLimit } from './http/reply-memory.ts';
import { pluginInterface, type Plugin, type PluginEntry } from './plugin.ts';
import { retriesSchema } from './upstream/retries.ts';
import { ConfigError } from './util/errors.ts';
import { describeFaults } from './util/option-errors.ts';
import { secondsOption } from './util/timeouts.ts';

/** With more processes the ledger, not the processor, is what calls wait for. */
const mostAutoWorkers = 8;

const pluginSchema = z.looseObject({
  name: z.string().min(1),
  apply: z.custom((value) => typeof value === 'function'),
});

export const settingsSchema = z.strictObject({
  server: z
    .strictObject({
      /** Not empty: Node takes an empty host as all interfaces. */
      host: z.string().min(1, 'an address to listen at; "::" is all there are').default('127.0.0.1'),
      port: z.int().min(0).max(65_535).default(8787),
      /** Maximum bytes of a request body. Default: 32 MiB, or `bodiesLimit` if that is less. */
      bodyLimit: z.int().positive().optional(),
      /**
       * Maximum bytes of the bodies of all running calls. Above it calls get 503 with `retry-after`. Default:
       * 512 MiB, or less on a small machine or with a small heap.
       */
      bodiesLimit: z.int().positive().optional(),
      /**
       * Maximum bytes of the bodies of one key's running calls, and of one account's. Above it calls get 429
       * with `retry-after`. Default: a quarter and a half of `bodiesLimit`. A single body is always accepted.
       */
      bodiesPerKey: z.int().positive().optional(),
      bodiesPerAccount: z.int().positive().optional(),
      /** Bytes a second at which a body of more than 64 KiB has to arrive; a slower one gets 408. */
      bodyRate: z.int().positive().default(4096),
      /**
       * Maximum bytes of all replies held at once. A larger reply fails, and new calls get 503 with `retry-
       * after`. Default: 1/32 of the heap or of the memory, whichever is less.
       */
      repliesLimit: z.int().positive().optional(),
      /** Seconds for running calls to finish when the gateway stops. */
      drain: secondsOption.prefault(30),
      /** Maximum open connections. Default: 20 000, or what the open-files limit allows. */
      maxConnections: z.int().positive().optional(),
      /** Number of your own proxies in front, each of which appends to `x-forwarded-for`. */
      trustedProxies: z.int().min(0).max(10).default(0),
      /** Processes that share the port. `auto`: one for each core, at most 8. */
      workers: z
        .union([z.literal('auto'), z.int().min(1).max(256)], '"auto", or a whole number from 1 to 256')
        .default(1)
        .transform((workers) =>
          workers === 'auto' ? Math.min(availableParallelism(), mostAutoWorkers) : workers,
        ),
    })
    .refine(
      ({ bodyLimit = 0, bodiesLimit = bodyLimit }) => bodyLimit <= bodiesLimit,
      'bodiesLimit must not be smaller than bodyLimit',
    )
    .prefault({}),
  /** Folder of the ledger and other durable files. */
  dataFolder: z.string().min(1, 'has to be a folder').default('./data'),
  /** What happens if a target cannot express a field: report it, or refuse the call. */
  loss: z.enum(['report', 'reject']).default('report'),
  /** Seconds. */
  timeouts: z
    .strictObject({
      /** To connect to a provider. */
      connect: secondsOption.prefault(10),
      /**
       * From an attempt's start to the first event of a stream, and to a complete JSON reply. By default
       * chosen from the request.
       */
      firstEvent: secondsOption.optional(),
      reply: secondsOption.optional(),
      /** Between two chunks of a reply. */
      idle: secondsOption.prefault(300),
      /** Of provider silence until a stream gets a keep-alive. */
      keepAlive: secondsOption.prefault(15),
      /** In which a client may read nothing before it is disconnected. */
      write: secondsOption.prefault(60),
      /** From a call's headers to its end. */
      call: secondsOption.prefault(3600),
    })
    .prefault({}),
  /** What happens after a failed attempt, before any byte of a reply was sent. */
  retries: retriesSchema.prefault({}),
  /** Koa middleware of your own, in order, before calls and pages of the public listener. */
  middleware: z
    .array(
      z.custom<Middleware>(
        (each) => typeof each === 'function',
        'has to be a Koa middleware: a function of the context and of `next`',
      ),
    )
    .default([]),
  plugins: z.array(
    z.custom<PluginEntry>(
      (entry) => !entry || isPlugin(entry),
      'has to be a plugin, with a name (call its factory: `name()`, not `name`) or falsy',
    ),
  ),
});

/** Koa's own type, which `@types/koa` describes: only configurations with middleware need that package. */
export type { Middleware };

export interface ConfigInput extends z.input<typeof settingsSchema> {}

type Settings = z.output<typeof settingsSchema>;

/** Times are in milliseconds. */
export interface Config extends Omit<Settings, 'server' | 'plugins'> {
  readonly file: string;
  readonly server: Settings['server'] & {
    readonly maxConnections: number;
    readonly bodyLimit: number;
    readonly bodiesLimit: number;
    readonly repliesLimit: number;
  };
  readonly plugins: readonly Plugin[];
  /** Everything but the plugins, as written. */
  readonly given: Readonly<Record<string, unknown>>;
}

function isPlugin(value: unknown): value is Plugin {
  return pluginSchema.safeParse(value).success;
}

/** Gives editors types for completion and checking. Returns its argument. */
export function defineConfig(config: ConfigInput): ConfigInput {
  return config;
}

/** Why a plugin cannot run here: it was made for another version of the plugin interface, or names none. */
function checkInterface({ name, interface: made }: Plugin): string | undefined {
  if (made === pluginInterface) return undefined;
  if (!Number.isInteger(made))
    return (
      `the plugin "${name}" does not say which plugin interface it was made for: ` +
      `make it with definePlugin, or write \`interface: ${pluginInterface}\` next to its name`
    );
  const remedy =
    made > pluginInterface
      ? 'update Tollgate, or install an older version of the plugin'
      : 'install a newer version of the plugin';
  return (
    `the plugin "${name}" was made for version ${made} of the plugin interface, ` +
    `and this Tollgate has version ${pluginInterface}: ${remedy}`
  );
}

/** Checks what a configuration file exports. Throws a `ConfigError` that lists every fault. */
export function checkConfig(input: unknown, file: string): Config {
  const checked = settingsSchema.safeParse(input);
  if (!checked.success) throw new ConfigError(`${file}: ${describeFaults(settingsSchema, checked.error)}`);
  const { plugins, ...settings } = checked.data;
  const present = plugins.filter((entry) => isPlugin(entry));
  const repeated = present.find(
    ({ name }, index) => present.findIndex((other) => other.name === name) < index,
  );
  if (repeated) throw new ConfigError(`${file}: the plugin "${repeated.name}" is listed twice`);
  const faults = present.flatMap((plugin) => checkInterface(plugin) ?? []);
  if (faults.length > 0) throw new ConfigError(`${file}: ${faults.join('; ')}`);
  const { maxConnections = computeMostConnections(), repliesLimit = computeRepliesLimit(settings.server) } =
    settings.server;
  const bodies = computeBodyLimits(settings.server);
  const server = { ...settings.server, ...bodies, maxConnections, repliesLimit };
  const { plugins: _, ...given } = { ...z.looseObject({}).parse(input) };
  return { ...settings, server, file, dataFolder: resolve(settings.dataFolder), plugins: present, given };
}
