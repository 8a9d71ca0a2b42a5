/**
 * An HTTP route of your own: this one lists models and prices for a spreadsheet, at `GET /prices.csv`.
 * `access` says who may call it: everyone (`public`), users (`user`), or operators on the admin listener
 * (`operator`). `handle` gets the user or operator as its second argument.
 */
import { definePlugin, getRate, toGatewayError } from 'tollgate';
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
      // For `/openapi.json`.
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
        // A price is a list of rates; those of tokens are in USD for a million.
        const lines = models.map(({ id, price }) =>
          [id, getRate(price, 'input') ?? '0', getRate(price, 'output') ?? '0'].join(','),
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
