/**
 * The configuration over HTTP, for operators: `GET /admin/config` shows what is in force without secrets,
 * `POST /admin/config/check` what a reload would change, `POST /admin/reload` reloads.
 */
import { z } from 'zod';
import {
  definePlugin,
  getMessage,
  hideSecrets,
  readOwnVersion,
  type ConfigFacts,
  type Configuration,
  type GivenOptions,
} from '../../core/index.ts';
import { createDefiner, listOperationRoutes, roles } from '../shared/operations.ts';
import { compareOptions, showOptions } from './configuration/shown-options.ts';

const noOptions: GivenOptions = { schema: z.strictObject({}), given: {} };

function viewConfig({ describe, workers }: Configuration, readAt: number) {
  const { file, dataFolder, settings, plugins, lacks, warnings } = describe();
  return {
    file,
    dataFolder,
    version: readOwnVersion(),
    node: process.version,
    workers,
    readAt: new Date(readAt).toISOString(),
    settings: showOptions(settings),
    plugins: plugins.map(({ name, off, options = noOptions }) => ({
      name,
      off,
      options: showOptions(options),
    })),
    warnings: [...lacks, ...warnings],
  };
}

function mapPlugins({ plugins }: ConfigFacts): Map<string, GivenOptions> {
  return new Map(plugins.map(({ name, options = noOptions }) => [name, options]));
}

function compareConfigs(before: ConfigFacts, after: ConfigFacts) {
  const [old, next] = [mapPlugins(before), mapPlugins(after)];
  const stays = (name: string): boolean => old.has(name) && next.has(name);
  const order = (names: Iterable<string>): string => [...names].filter(stays).join(' ');
  return {
    settings: compareOptions(before.settings, after.settings),
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

async function checkConfig({ describe, read }: Configuration) {
  try {
    const next = await read();
    return {
      ok: true,
      fault: undefined,
      changes: compareConfigs(describe(), next),
      warnings: [...next.lacks, ...next.warnings],
      waiting: [...next.waiting],
    };
  } catch (error) {
    return {
      ok: false,
      fault: hideSecrets(getMessage(error)),
      changes: undefined,
      warnings: [],
      waiting: [],
    };
  }
}

/** What the operations work on. */
interface Context {
  readonly configuration: Configuration;
  /** When it was read, in milliseconds. */
  readonly readAt: number;
}

const defineOperation = createDefiner<Context>();

const configurationOperations = [
  defineOperation({
    route: 'GET /admin/config',
    summary: 'Show the configuration in force, without secrets',
    roles: roles.read,
    run: async ({ configuration, readAt }) => viewConfig(configuration, readAt),
  }),
  defineOperation({
    route: 'POST /admin/config/check',
    summary: 'Show what a reload would change',
    roles: roles.read,
    changesNothing: true,
    run: ({ configuration }) => checkConfig(configuration),
  }),
  defineOperation({
    route: 'POST /admin/reload',
    summary: 'Read the configuration again, in all workers',
    details:
      'Modules of your own are read again too. ' +
      'Packages and the gateway keep their code until the next start.',
    roles: roles.manage,
    run: ({ configuration }) => configuration.reload(),
  }),
];

export const configuration = definePlugin({
  name: 'configuration',
  options: z.strictObject({}),
  apply({ operations, routes }) {
    const context = { configuration: operations.configuration, readAt: Date.now() };
    for (const route of listOperationRoutes(configurationOperations, () => context)) routes.add(route);
  },
});
