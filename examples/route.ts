/**
 * A route of your own: this one lists models and prices for a spreadsheet, at `GET /prices.csv`. `access`
 * says who may ask: everyone (`public`), users (`user`, whose principal is the second argument of `handle`),
 * or operators, at the admin listener.
 */
import { definePlugin, formatUsd, toGatewayError } from 'tollgate';
import { encodeError } from 'tollgate/kit';
import { z } from 'zod';

const options = z.strictObject({ path: z.string().startsWith('/').default('/prices.csv') });

export const prices = definePlugin({
  name: 'prices',
  options,
  apply({ catalog, routes }, { path }) {
    routes.add({
      name: 'prices',
      method: 'GET',
      path,
      access: 'public',
      // What `/openapi.json` tells of it.
      describe: async () => ({
        summary: 'Prices of all models, as CSV',
        query: z.object({ owner: z.string().optional() }),
        replies: { 200: { 'text/csv': z.string() } },
        error: z.looseObject({ error: z.looseObject({ message: z.string() }) }),
      }),
      encodeError: (error) => encodeError(toGatewayError(error)),
      async handle({ query }) {
        const owner = query.get('owner');
        const models = catalog.listModels().filter(({ id }) => owner === null || id.startsWith(`${owner}/`));
        // What is kept is nano-USD for a million tokens, so that no price is ever a float.
        const lines = models.map(({ id, price }) =>
          [id, formatUsd(price?.input ?? 0n), formatUsd(price?.output ?? 0n)].join(','),
        );
        return {
          status: 200,
          headers: { 'content-type': 'text/csv' },
          body: ['model,input,output', ...lines, ''].join('\n'),
        };
      },
    });
  },
});
