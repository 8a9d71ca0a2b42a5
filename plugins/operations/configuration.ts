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
import { buildOperatorRoutes } from '../shared/operator-routes.ts';
import type { ConfigCheck, ConfigView } from '../shared/replies/configuration.ts';
import { compareOptions, showOptions } from './configuration/shown-options.ts';

const noOptions: GivenOptions = { schema: z.strictObject({}), given: {} };

function viewConfig({ describe, workers }: Configuration, readAt: number): ConfigView {
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

function compareConfigs(before: ConfigFacts, after: ConfigFacts): ConfigCheck['changes'] {
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

async function checkConfig({ describe, read }: Configuration): Promise<ConfigCheck> {
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

export const configuration = definePlugin({
  name: 'configuration',
  options: z.strictObject({}),
  apply({ operations, routes }) {
    const { configuration } = operations;
    const readAt = Date.now();
    const handlers = {
      'GET /admin/config': async () => viewConfig(configuration, readAt),
      'POST /admin/config/check': () => checkConfig(configuration),
      'POST /admin/reload': () => configuration.reload(),
    };
    const all = buildOperatorRoutes(
      handlers,
      () => import('./configuration/description.ts'),
      'POST /admin/config/check',
    );
    for (const route of all) routes.add(route);
  },
});
