/** The HTTP routes of all plugins, each with the plugin that added it: that is its family, as a call's is its protocol. */
import { Registry } from '../host/registry.ts';
import { PluginError, reasonOf, type Route } from '../plugin.ts';
import type { Protocol } from '../protocol.ts';

const accesses = new Set<unknown>(['public', 'user', 'operator'] satisfies Route['access'][]);

/** What its type promises of a route, for plugins in plain JavaScript: what is wrong with one would else be told to its callers. */
function faultOf({ method, path, access, handle, errors }: Route): string | undefined {
  if (!/^(GET|POST|PUT|PATCH|DELETE)$/.test(method))
    return '"method" has to be GET, POST, PUT, PATCH or DELETE';
  if (!path?.startsWith('/')) return '"path" has to begin with "/"';
  if (!accesses.has(access)) return `"access" has to be one of ${[...accesses].join(', ')}`;
  if (typeof handle !== 'function') return '"handle" has to be a function';
  return typeof errors === 'function'
    ? undefined
    : '"errors" has to be a function, which puts what went wrong into words';
}

export class Routes extends Registry<Route> {
  constructor() {
    super('route');
  }

  override add(route: Route): void {
    const fault = faultOf(route);
    if (fault !== undefined) throw new Error(`route "${route.name}": ${fault}`);
    super.add(route);
  }

  /** Puts a route behind a door whose calls are taken first. Throws, naming its plugin, where nobody could reach it. */
  reachable(route: Route, protocols: readonly Protocol[], register: () => unknown): void {
    const { name, method, path } = route;
    try {
      const taken = protocols.find(({ client }) => client.match(method, path, ''));
      if (taken) throw new Error(`${method} ${path} is an address of the protocol "${taken.name}"`);
      register();
    } catch (error) {
      throw new PluginError(
        this.ownerOf(route),
        `route "${name}" cannot be reached: ${reasonOf(error)}`,
        error,
      );
    }
  }
}
