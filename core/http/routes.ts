/** The HTTP routes of all plugins, each with the plugin that added it. */
import { Registry } from '../host/registry.ts';
import { PluginError, describeReason, type Route } from '../plugin.ts';
import type { Protocol } from '../protocol.ts';

const accesses = new Set<unknown>(['public', 'user', 'operator'] satisfies Route['access'][]);

/**
 * Checks a route from a plugin in plain JavaScript. Otherwise its faults would show only when it is called.
 */
function findFault({ method, path, access, handle, encodeError }: Route): string | undefined {
  if (!/^(GET|POST|PUT|PATCH|DELETE)$/.test(method))
    return '"method" must be GET, POST, PUT, PATCH or DELETE';
  if (!path?.startsWith('/')) return '"path" must begin with "/"';
  if (!accesses.has(access)) return `"access" must be one of ${[...accesses].join(', ')}`;
  if (typeof handle !== 'function') return '"handle" must be a function';
  return typeof encodeError === 'function'
    ? undefined
    : '"encodeError" must be a function that turns an error into a reply';
}

/** Whether a listener serves a route: the admin listener operator routes, the public one all others. */
export function isServed({ access, adminOnly, everywhere }: Route, onAdmin: boolean): boolean {
  return everywhere ?? (access === 'operator' || adminOnly === true) === onAdmin;
}

export class Routes extends Registry<Route> {
  constructor() {
    super('route');
  }

  override add(route: Route): void {
    const fault = findFault(route);
    if (fault !== undefined) throw new Error(`route "${route.name}": ${fault}`);
    super.add(route);
  }

  /**
   * Registers a route on a listener, after the protocols. Throws, naming its plugin, if no request could
   * reach it.
   */
  register(route: Route, protocols: readonly Protocol[], register: () => unknown): void {
    const { name, method, path } = route;
    try {
      const taken = protocols.find(({ client }) => client.match(method, path, ''));
      if (taken) throw new Error(`${method} ${path} is an endpoint of the protocol "${taken.name}"`);
      register();
    } catch (error) {
      throw new PluginError(
        this.getOwner(route),
        `route "${name}" cannot be reached: ${describeReason(error)}`,
        error,
      );
    }
  }
}
