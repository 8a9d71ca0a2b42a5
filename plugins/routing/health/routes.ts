/** Routes for operators: the health of providers as the router sees it, rest, wake and a test of the key. */
import { z } from 'zod';
import { GatewayError, type Route } from '../../../core/index.ts';
import { createDefiner, listOperationRoutes, roles } from '../../shared/operations.ts';
import type { HealthBook } from './book.ts';
import type { Place } from './holds.ts';
import { describeProviders, listProbes, type Offered } from './overview.ts';
import { collectRows, decideForAll, type Decision, type Line } from './workers.ts';

type Health = Line & Offered & { readonly book: HealthBook };

async function buildOverview(health: Health) {
  const { book } = health;
  const { rows, workers } = await collectRows(health.workers, book);
  const providers = describeProviders(health, rows, book.holds.list());
  return { since: new Date(book.since).toISOString(), workers, providers };
}

/** Throws `not_found` if there is no such provider. */
function requireProvider({ providers }: Offered, provider: string): void {
  if (providers.find(provider)) return;
  const known = [...providers.list()].map(({ name }) => name).join(', ') || 'none';
  const text = `There is no such provider; there are: ${known}.`;
  throw new GatewayError('not_found', text, { param: 'provider' });
}

/** Throws `not_found` if there is no such provider, or it has no such model or key. */
function checkPlace(host: Offered, { provider, model, key }: Place): void {
  requireProvider(host, provider);
  const { catalog } = host;
  const models = model === undefined ? catalog.listModels().map(({ id }) => id) : [model];
  const offers = models.flatMap((id) => catalog.find(id)).filter((offer) => offer.provider.name === provider);
  if (model !== undefined && offers.length === 0)
    throw new GatewayError('not_found', 'The provider does not offer this model.', { param: 'model' });
  if (key !== undefined && !offers.some((offer) => (offer.provider.credential ?? 1) === key))
    throw new GatewayError('not_found', 'The provider has no key of this number.', { param: 'key' });
}

async function decide(health: Health, decision: Decision) {
  checkPlace(health, 'hold' in decision ? decision.hold : decision.wake);
  await decideForAll(health, health.book, decision);
  return buildOverview(health);
}

async function testProvider(host: Offered, provider: string, key: number | undefined) {
  requireProvider(host, provider);
  const probes = listProbes(host, provider).filter((each) => key === undefined || each.key === key);
  const text = 'Nothing free can be asked of this provider; try a call in the playground.';
  if (probes.length === 0)
    throw new GatewayError('not_found', text, { param: key === undefined ? 'provider' : 'key' });
  const results = await Promise.all(
    probes.map(async (each) => {
      const began = performance.now();
      const findings = await each.probe.examine();
      const milliseconds = Math.round(performance.now() - began);
      return { key: each.key, ok: findings.every(({ state }) => state !== 'fault'), milliseconds, findings };
    }),
  );
  return { provider, results };
}

const key = z.int('a key is named by its number').min(1).optional();
const model = z.string().min(1).max(300).optional();

/** A provider, or one of its keys, or one model there. */
const placeOrder = z.strictObject({ key, model });

/** The longest rest: a week. */
const longest = 7 * 24 * 3600;

const restOrder = placeOrder.extend({
  seconds: z.number().positive().max(longest, `a rest lasts at most ${longest} seconds`).default(3600),
  reason: z.string().max(200, 'a reason has at most 200 characters').optional(),
});

const defineOperation = createDefiner<Health>();

const providerOperations = [
  defineOperation({
    route: 'GET /admin/providers',
    summary: 'Show the health of all providers, as the router sees it',
    roles: roles.read,
    run: (health) => buildOverview(health),
  }),
  defineOperation({
    route: 'POST /admin/providers/:provider/rest',
    summary: 'Take a provider, a key or a model out of service for a while',
    roles: roles.manage,
    input: restOrder.prefault({}),
    run: (health, { seconds, ...order }, { provider }) =>
      decide(health, { hold: { ...order, provider, until: Date.now() + seconds * 1000 } }),
  }),
  defineOperation({
    route: 'POST /admin/providers/:provider/wake',
    summary: 'End a rest and close the circuit',
    roles: roles.manage,
    input: placeOrder.prefault({}),
    run: (health, order, { provider }) => decide(health, { wake: { ...order, provider } }),
  }),
  defineOperation({
    route: 'POST /admin/providers/:provider/test',
    summary: 'Ask a provider whether it is there and accepts the key; costs nothing',
    roles: roles.manage,
    input: z.strictObject({ key }).prefault({}),
    run: (health, { key }, { provider }) => testProvider(health, provider, key),
  }),
];

export function createProviderRoutes(host: Line & Offered, getBook: () => HealthBook): Route[] {
  return listOperationRoutes(providerOperations, () => ({ ...host, book: getBook() }));
}
