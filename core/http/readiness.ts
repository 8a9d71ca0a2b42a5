/** Collects the faults that `/readyz` reports: every reason to send the gateway no calls. */
import type { Logger } from 'pino';
import type { Readiness } from '../plugin.ts';
import { getMessage } from '../util/errors.ts';
import type { Registry } from '../util/registry.ts';

/** Runs a check. A plugin in plain JavaScript may return anything. */
function runCheck(check: Readiness): string | undefined {
  const fault: unknown = check.findFault();
  if (fault === undefined || typeof fault === 'string') return fault;
  // An unhandled rejection would end the process.
  if (fault instanceof Promise) fault.catch(() => undefined);
  const kind = fault instanceof Promise ? 'promise' : typeof fault;
  throw new TypeError(`"fault" must return undefined or a text, synchronously; it returned a ${kind}`);
}

/** A check that throws counts as a fault, and its plugin is named. */
export function findReadinessFaults({
  calls,
  readiness,
  logger,
}: {
  readonly calls: { readonly draining: boolean };
  readonly readiness: Pick<Registry<Readiness>, 'list' | 'getOwner'>;
  readonly logger: Logger;
}): string[] {
  const faults = [...readiness.list()].flatMap((check) => {
    try {
      const fault = runCheck(check);
      return fault === undefined ? [] : [`${check.name}: ${fault}`];
    } catch (error) {
      const plugin = readiness.getOwner(check);
      logger.error({ error, plugin, readiness: check.name }, 'a readiness check failed');
      return [`${check.name}: the check of the plugin "${plugin}" failed: ${getMessage(error)}`];
    }
  });
  return calls.draining ? ['the gateway is stopping', ...faults] : faults;
}
