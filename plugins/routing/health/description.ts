/** What the routes of providers take and return, for the OpenAPI document. */
import { describeJson } from '../../shared/operator-description.ts';
import type { Descriptions } from '../../shared/operator-routes.ts';
import { providerHealth, providerTest } from '../../shared/replies/providers.ts';
import { placeOrder, restOrder, testOrder } from './orders.ts';

const changed = { replies: { 200: describeJson(providerHealth) } };

export const descriptions: Descriptions = {
  'GET /admin/providers': { ...changed, summary: 'Health of all providers, as the router sees it' },
  'POST /admin/providers/:provider/rest': {
    ...changed,
    summary: 'Take a provider, a key or a model out of service for a while',
    body: describeJson(restOrder),
  },
  'POST /admin/providers/:provider/wake': {
    ...changed,
    summary: 'End a rest and close the circuit',
    body: describeJson(placeOrder.optional()),
  },
  'POST /admin/providers/:provider/test': {
    summary: 'Ask a provider whether it is there and accepts the key; costs nothing',
    body: describeJson(testOrder.optional()),
    replies: { 200: describeJson(providerTest) },
  },
};
