/** What plugins get of a finished gateway: its configuration, previews, and where else calls are served. */
import type { Config } from '../config.ts';
import type { Core } from '../core.ts';
import { GatewayError } from '../errors.ts';
import type { Host } from '../plugin.ts';
import { listShortcomings, listWarnings } from '../process/config-warnings.ts';
import { readOwnVersion } from '../process/peer-versions.ts';
import { viewConfig, type Configuration, type ConfigView, type Control } from './configuration.ts';

/** What plugins may do with the finished core. */
export function createTools(
  core: Core,
  listener: Host['listener'],
  configuration: Configuration,
): Pick<
  Host,
  'findTargets' | 'preview' | 'addresses' | 'listener' | 'running' | 'configuration' | 'serveCalls'
> {
  const { findTargets, addresses, calls, callPaths } = core;
  return {
    findTargets,
    preview: async (request) => (await import('../preview.ts')).previewCall(core, request),
    addresses,
    listener,
    running: calls,
    configuration,
    serveCalls: (path) => void callPaths.add(path),
  };
}

/** The configuration as operators see it. */
export function createConfiguration(
  config: Config,
  { workers, ...control }: Control,
  parts: Parameters<typeof listShortcomings>[0],
  off: ReadonlyMap<string, string>,
): Configuration {
  const readAt = Date.now();
  const view = (): ConfigView => {
    const warnings = [...listShortcomings(parts), ...listWarnings(config)];
    return viewConfig(config, { version: readOwnVersion(), readAt, warnings, workers, off });
  };
  return { ...control, view };
}

/** Without a service, nothing can be reloaded. */
export const noService: Control = {
  workers: 1,
  check: () => Promise.reject(new GatewayError('not_found', 'This process serves no calls.')),
  reload: () => Promise.reject(new GatewayError('not_found', 'This process serves no calls.')),
};
