/** The configuration as operators see it: what is in force, what a reload would change, and the reload. */
import type { Logger } from 'pino';
import { settingsSchema, type Config } from '../config.ts';
import { createGateway, type Gateway, type OperatorTools } from '../gateway.ts';
import { checkConnections } from '../http/open-files.ts';
import type { ConfigChanges, Control, Configuration, ConfigCheck } from '../operations.ts';
import type { GivenOptions } from '../plugin.ts';
import { GatewayError, getMessage } from '../util/errors.ts';
import { readOwnVersion } from '../util/own-version.ts';
import { loadConfig } from './load-config.ts';
import { compareOptions, showOptions, hideSecrets } from './shown-options.ts';

function getSettings({ given }: Config): GivenOptions {
  return { schema: settingsSchema.omit({ plugins: true }), given };
}

const nothing: GivenOptions = { schema: settingsSchema.pick({}), given: {} };

function createConfiguration(
  { workers, ...control }: Control,
  config: Config,
  parts: Parameters<OperatorTools['createConfiguration']>[1],
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
        off: parts.off.get(name),
        options: showOptions(options),
      })),
      warnings: [...listShortcomings(parts), ...listWarnings(config)],
    }),
  };
}

/** Without a service, nothing can be reloaded. */
const noService: Control = {
  workers: 1,
  check: () => Promise.reject(new GatewayError('not_found', 'This process serves no calls.')),
  reload: () => Promise.reject(new GatewayError('not_found', 'This process serves no calls.')),
};

/** What operators see of a gateway in this process. */
export function createOperatorTools(control: Control = noService): OperatorTools {
  return {
    createConfiguration: (config, parts) => createConfiguration(control, config, parts),
    previewCall: async (core, request) => (await import('./preview.ts')).previewCall(core, request),
  };
}

function mapPlugins({ plugins }: Config): Map<string, GivenOptions> {
  return new Map(plugins.map(({ name, options = nothing }) => [name, options]));
}

function compareConfigs(before: Config, after: Config): ConfigChanges {
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

/** Settings of a new configuration that change only with the next start. */
export function listUnchangeable(before: Config['server'], after: Config['server']): string[] {
  return (['host', 'port', 'maxConnections', 'workers'] as const)
    .filter((name) => before[name] !== after[name])
    .map((name) => `server.${name}`);
}

/** The reason of a refusal, for operators. */
export function describeFault(error: unknown): string {
  return hideSecrets(getMessage(error));
}

/** `first` is the configuration of the start, `current` the one in force. */
export async function checkConfigFile(first: Config, current: Config, logger: Logger): Promise<ConfigCheck> {
  try {
    const next = await loadConfig(current.file);
    const trial = createGateway(next, logger);
    await trial.check();
    const warnings = [...listShortcomings(trial), ...listWarnings(next)];
    await trial.close();
    return {
      ok: true,
      fault: undefined,
      changes: compareConfigs(current, next),
      warnings,
      waiting: listUnchangeable(first.server, next.server),
    };
  } catch (error) {
    return { ok: false, fault: describeFault(error), changes: undefined, warnings: [], waiting: [] };
  }
}

/** One line for each problem, with what to add. */
export function listShortcomings({
  protocols,
  providers,
  keyrings,
  hooks,
}: Pick<Gateway, 'protocols' | 'providers' | 'keyrings' | 'hooks'>): string[] {
  const warnings: string[] = [];
  const listed = [...protocols.list()];
  if (listed.length === 0)
    warnings.push('No protocol is listed, so no client can call: add one, such as chatCompletions().');
  // Taps at an earlier stage only reject calls, so they do not count as authentication.
  if (!hooks.authenticate.taps.some(({ stage = 0 }) => stage >= 0))
    warnings.push('No credential plugin is listed, so every call is refused: add one, such as bearer().');
  else if (keyrings.list().next().done)
    warnings.push(
      'No plugin keeps keys, so calls are refused unless a plugin of yours authenticates them: ' +
        'add balance().',
    );
  const spoken = new Set([...providers.list()].flatMap(({ endpoints }) => Object.keys(endpoints)));
  if (spoken.size === 0)
    warnings.push("No provider is on, so there are no models: set a provider's key, or add demo().");
  else if (listed.length > 0 && !listed.some(({ name }) => spoken.has(name)))
    warnings.push(
      'No provider speaks a listed protocol, so no model can be called: ' +
        `add one of those they speak (${[...spoken].join(', ')}).`,
    );
  return warnings;
}

/** What the configuration asks for and this machine has no room for. */
export function listWarnings({ server }: Config): string[] {
  const fault = checkConnections(server.maxConnections);
  return fault === undefined ? [] : [`Warning: ${fault}`];
}
