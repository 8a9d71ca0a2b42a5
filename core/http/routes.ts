/** The HTTP routes of all plugins, each with the plugin that added it. */
import type { Route, RouteRequest } from '../plugin.ts';
import type { Protocol } from '../protocol.ts';
import { PluginError, describeReason } from '../util/plugin-error.ts';
import { Registry } from '../util/registry.ts';

const accesses = new Set<unknown>(['public', 'user', 'operator'] satisfies Route['access'][]);

/** Checks a route from a plugin in plain JavaScript, whose faults would show only when it is called. */
function findFault({ method, path, access, when, handle, encodeError }: Route): string | undefined {
  if (!/^(GET|POST|PUT|PATCH|DELETE)$/.test(method))
    return '"method" must be GET, POST, PUT, PATCH or DELETE';
  if (!path?.startsWith('/')) return '"path" must begin with "/"';
  if (!accesses.has(access)) return `"access" must be one of ${[...accesses].join(', ')}`;
  if (when !== undefined && typeof when !== 'function') return '"when" must be a function';
  if (typeof handle !== 'function') return '"handle" must be a function';
  return typeof encodeError === 'function'
    ? undefined
    : '"encodeError" must be a function that turns an error into a reply';
}

/** Whether a listener serves a route: the admin listener operator routes, the public one all others. */
export function isServed({ access, adminOnly, everywhere }: Route, onAdmin: boolean): boolean {
  return everywhere ?? (access === 'operator' || adminOnly === true) === onAdmin;
}

/** Routes that share a method and path, in the order of their plugins. */
export type SharedRoutes = readonly [Route, ...Route[]];

export function groupRoutes(routes: Iterable<Route>, onAdmin: boolean): Iterable<SharedRoutes> {
  const groups = new Map<string, [Route, ...Route[]]>();
  for (const route of routes) {
    if (!isServed(route, onAdmin)) continue;
    const place = `${route.method} ${route.path}`;
    const group = groups.get(place);
    if (group) group.push(route);
    else groups.set(place, [route]);
  }
  return groups.values();
}

export function chooseRoute(routes: SharedRoutes, request: Pick<RouteRequest, 'headers' | 'query'>): Route {
  const [first, ...others] = routes;
  if (others.length === 0) return first;
  return routes.find(({ when }) => when?.(request)) ?? routes.find(({ when }) => when === undefined) ?? first;
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

  /** Registers routes that share a path, after the protocols. Throws if no request could reach one. */
  register(routes: SharedRoutes, protocols: readonly Protocol[], register: () => unknown): void {
    for (const route of routes) {
      const { name, method, path } = route;
      try {
        const taken = protocols.find(({ client }) => client.match(method, path, ''));
        if (taken) throw new Error(`${method} ${path} is an endpoint of the protocol "${taken.name}"`);
        if (route === routes[0]) register();
      } catch (error) {
        throw new PluginError(
          this.getOwner(route),
          `route "${name}" cannot be reached: ${describeReason(error)}`,
          error,
        );
      }
    }
  }
}
