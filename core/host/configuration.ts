/** The configuration as operators see it: what is in force, what a reload would change, and the reload. */
import { settingsSchema, type Config } from '../config.ts';
import { GatewayError } from '../errors.ts';
import { listShortcomings, listWarnings } from '../process/config-warnings.ts';
import { readOwnVersion } from '../process/own-version.ts';
import {
  compareOptions,
  showOptions,
  type GivenOptions,
  type OptionChange,
  type ShownOption,
} from './shown-options.ts';

export interface ShownPlugin {
  readonly name: string;
  /** What switches it on, if it is off. */
  readonly off: string | undefined;
  readonly options: readonly ShownOption[];
}

export interface ConfigView {
  readonly file: string;
  readonly dataFolder: string;
  readonly version: string;
  readonly node: string;
  /** Processes that share the port. */
  readonly workers: number;
  /** Milliseconds since the epoch when it was read. */
  readonly readAt: number;
  readonly settings: readonly ShownOption[];
  readonly plugins: readonly ShownPlugin[];
  readonly warnings: readonly string[];
}

export interface ConfigChanges {
  readonly settings: readonly OptionChange[];
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Whether plugins that stay are in another order. */
  readonly isReordered: boolean;
  readonly changed: readonly { readonly plugin: string; readonly options: readonly OptionChange[] }[];
}

/** What a reload would do. */
export interface ConfigCheck {
  readonly ok: boolean;
  /** Why the new configuration cannot be used. */
  readonly fault: string | undefined;
  readonly changes: ConfigChanges | undefined;
  readonly warnings: readonly string[];
  /** Settings that wait for the next start. */
  readonly waiting: readonly string[];
}

export interface Reloaded {
  readonly ok: boolean;
  readonly fault: string | undefined;
  readonly waiting: readonly string[];
  /** Other workers that reload now. */
  readonly workers: number;
}

/** What a process that serves can do with its configuration. Commands of the command line cannot. */
export interface Control {
  /** Processes that share the port. */
  readonly workers: number;
  check(): Promise<ConfigCheck>;
  reload(): Promise<Reloaded>;
}

export interface Configuration extends Omit<Control, 'workers'> {
  view(): ConfigView;
}

function getSettings({ given }: Config): GivenOptions {
  return { schema: settingsSchema.omit({ plugins: true }), given };
}

const nothing: GivenOptions = { schema: settingsSchema.pick({}), given: {} };

/** The configuration as operators see it. `off` says what switches on each plugin that is off. */
export function createConfiguration(
  config: Config,
  { workers, ...control }: Control,
  parts: Parameters<typeof listShortcomings>[0],
  off: ReadonlyMap<string, string>,
): Configuration {
  const readAt = Date.now();
  return {
    ...control,
    view: () => ({
      file: config.file,
      dataFolder: config.dataFolder,
      version: readOwnVersion(),
      node: process.version,
      workers,
      readAt,
      settings: showOptions(getSettings(config)),
      plugins: config.plugins.map(({ name, options = nothing }) => ({
        name,
        off: off.get(name),
        options: showOptions(options),
      })),
      warnings: [...listShortcomings(parts), ...listWarnings(config)],
    }),
  };
}

/** Without a service, nothing can be reloaded. */
export const noService: Control = {
  workers: 1,
  check: () => Promise.reject(new GatewayError('not_found', 'This process serves no calls.')),
  reload: () => Promise.reject(new GatewayError('not_found', 'This process serves no calls.')),
};

function mapPlugins({ plugins }: Config): Map<string, GivenOptions> {
  return new Map(plugins.map(({ name, options = nothing }) => [name, options]));
}

export function compareConfigs(before: Config, after: Config): ConfigChanges {
  const [old, next] = [mapPlugins(before), mapPlugins(after)];
  const stays = (name: string): boolean => old.has(name) && next.has(name);
  const order = (names: Iterable<string>): string => [...names].filter(stays).join(' ');
  return {
    settings: compareOptions(getSettings(before), getSettings(after)),
    added: [...next.keys()].filter((name) => !old.has(name)),
    removed: [...old.keys()].filter((name) => !next.has(name)),
    isReordered: order(old.keys()) !== order(next.keys()),
    changed: [...next].flatMap(([plugin, options]) => {
      const known = old.get(plugin);
      const changes = known ? compareOptions(known, options) : [];
      return changes.length > 0 ? [{ plugin, options: changes }] : [];
    }),
  };
}
