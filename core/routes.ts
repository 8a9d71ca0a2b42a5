/** The HTTP routes of all plugins, each with the plugin that added it: that is its family, as a call's is its protocol. */
import type { Host, Route } from './plugin.ts';
import { Registry } from './registry.ts';

export class Routes extends Registry<Route> {
  readonly #families = new WeakMap<Route, string>();

  constructor() {
    super('route');
  }

  /** The routes as one plugin sees them: what it adds is of its family. */
  seenBy(plugin: string): Host['routes'] {
    const add = (route: Route): void => {
      this.add(route);
      this.#families.set(route, plugin);
    };
    return { add, find: (name) => this.find(name), get: (name) => this.get(name), all: () => this.all() };
  }

  familyOf(route: Route): string {
    return this.#families.get(route) ?? route.name;
  }
}
