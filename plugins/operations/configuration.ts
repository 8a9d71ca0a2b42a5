/**
 * The configuration over HTTP, for operators: `GET /admin/config` shows what is in force without secrets,
 * `POST /admin/config/check` what a reload would change, `POST /admin/reload` reloads.
 */
import { z } from 'zod';
import { definePlugin } from '../../core/index.ts';
import { buildOperatorRoutes } from '../shared/operator-routes.ts';

export const configuration = definePlugin({
  name: 'configuration',
  options: z.strictObject({}),
  apply({ operations, routes }) {
    const { configuration } = operations;
    const handlers = {
      async 'GET /admin/config'() {
        const { readAt, ...view } = configuration.view();
        return { ...view, readAt: new Date(readAt).toISOString() };
      },
      'POST /admin/config/check': () => configuration.check(),
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
