/** What `/readyz` tells: everything that keeps the gateway from being given calls. */
import type { Core } from '../core.ts';
import { reasonOf, type Readiness } from '../plugin.ts';

/** What a plugin's check says, which in plain JavaScript may be anything, or what it fails at. */
function faultOf(check: Readiness): string | undefined {
  const fault: unknown = check.fault();
  if (fault === undefined || typeof fault === 'string') return fault;
  // What a promise fails at later would end the process.
  if (fault instanceof Promise) fault.catch(() => undefined);
  throw new TypeError(
    `"fault" has to answer at once, undefined or what is wrong; it answered ${fault instanceof Promise ? 'a promise' : `a ${typeof fault}`}`,
  );
}

/** Whatever cannot be looked at is taken to be wrong, and its plugin is named. */
export function faultsOf({ calls, readiness, logger }: Core): string[] {
  const told = [...readiness.all()].flatMap((check) => {
    try {
      const fault = faultOf(check);
      return fault === undefined ? [] : [`${check.name}: ${fault}`];
    } catch (error) {
      const plugin = readiness.ownerOf(check);
      logger.error({ error, plugin, readiness: check.name }, 'a readiness check failed');
      return [
        `${check.name}: the check itself failed, of the plugin "${plugin}": ${error instanceof Error ? error.message : reasonOf(error)}`,
      ];
    }
  });
  return calls.draining ? ['it is stopping', ...told] : told;
}
