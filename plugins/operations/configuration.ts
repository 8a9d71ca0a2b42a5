/**
 * The configuration over HTTP, for operators: `GET /admin/config` shows what is in force without secrets,
 * `POST /admin/config/check` what a reload would change, `POST /admin/reload` reloads.
 */
import { z } from 'zod';
import { definePlugin, type Configuration, type Route } from '../../core/index.ts';
import { errors, json } from '../shared/operator-routes.ts';

const handlers: Readonly<Record<string, (configuration: Configuration) => Promise<object>>> = {
  async 'GET /admin/config'(configuration) {
    const { readAt, ...view } = configuration.view();
    return { ...view, readAt: new Date(readAt).toISOString() };
  },
  'POST /admin/config/check': (configuration) => configuration.check(),
  'POST /admin/reload': (configuration) => configuration.reload(),
};

export const configuration = definePlugin({
  name: 'configuration',
  options: z.strictObject({}),
  apply(host) {
    for (const [name, handle] of Object.entries(handlers)) {
      const [verb, path = ''] = name.split(' ');
      const route: Route = {
        name,
        method: verb === 'GET' ? 'GET' : 'POST',
        path,
        access: 'operator',
        ...(name === 'POST /admin/config/check' ? { changesNothing: true } : {}),
        errors,
        openapi: async () => (await import('./configuration/description.ts')).describeRoute(name),
        handle: async () => json(await handle(host.configuration)),
      };
      host.routes.add(route);
    }
  },
});
