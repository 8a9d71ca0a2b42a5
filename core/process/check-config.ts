/** Reads the configuration as a reload would, and says what would change. Nothing is opened. */
import type { Logger } from 'pino';
import { loadConfig, type Config } from '../config.ts';
import { getMessage } from '../errors.ts';
import { createGateway } from '../gateway.ts';
import { compareConfigs, type ConfigCheck } from '../host/configuration.ts';
import { hideSecrets } from '../host/shown-options.ts';
import { listShortcomings, listWarnings } from './config-warnings.ts';

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
