/** Routes for operators: the health of providers as the router sees it, rest, wake and a test of the key. */
import { z } from 'zod';
import { GatewayError, type Examination, type Host, type Route } from '../../../core/index.ts';
import type { News } from '../../shared/news.ts';
import { createDefiner, listOperationRoutes, roles } from '../../shared/operations.ts';
import type { HealthBook } from './book.ts';
import { writeHolds } from './holds.ts';
import { describeProviders } from './overview.ts';
import { decideForAll, collectRows, type Decision } from './workers.ts';

interface Needs extends Pick<
  Host,
  'providers' | 'catalog' | 'examinations' | 'workers' | 'dataFolder' | 'logger'
> {
  readonly news: News;
}

interface Health {
  readonly host: Needs;
  readonly book: HealthBook;
}

/** A plugin names the examination of each key of a provider `<provider> <key>`. */
function listProbes({ examinations }: Needs, provider: string): { key: number; probe: Examination }[] {
  return [...examinations.list()].flatMap((probe) => {
    const [, name, key] = /^(.+) (\d+)$/.exec(probe.name) ?? [];
    return name === provider ? [{ key: Number(key), probe }] : [];
  });
}

async function buildOverview(host: Needs, book: HealthBook) {
  const { rows, workers } = await collectRows(host.workers, book);
  const providers = [...host.providers.list()];
  const probed = new Set(providers.flatMap(({ name }) => (listProbes(host, name).length > 0 ? [name] : [])));
  return {
    since: new Date(book.since).toISOString(),
    workers,
    providers: describeProviders(providers, host.catalog, { rows, holds: book.holds.list(), probed }),
  };
}

/** Throws `not_found` if there is no such provider. */
function requireProvider({ providers }: Needs, provider: string): void {
  if (providers.find(provider)) return;
  const known = [...providers.list()].map(({ name }) => name).join(', ') || 'none';
  throw new GatewayError('not_found', `There is no such provider; there are: ${known}.`, {
    param: 'provider',
  });
}

/** Throws `not_found` if there is no such provider, or it has no such model or key. */
function checkPlace(
  host: Needs,
  provider: string,
  { model, key }: { model?: string | undefined; key?: number | undefined },
): void {
  requireProvider(host, provider);
  const { catalog } = host;
  const models = model === undefined ? catalog.listModels().map(({ id }) => id) : [model];
  const offers = models.flatMap((id) => catalog.find(id)).filter((offer) => offer.provider.name === provider);
  if (model !== undefined && offers.length === 0)
    throw new GatewayError('not_found', 'The provider does not offer this model.', { param: 'model' });
  if (key !== undefined && !offers.some((offer) => (offer.provider.credential ?? 1) === key))
    throw new GatewayError('not_found', 'The provider has no key of this number.', { param: 'key' });
}

async function testProvider(host: Needs, provider: string, key: number | undefined) {
  requireProvider(host, provider);
  const probes = listProbes(host, provider).filter((each) => key === undefined || each.key === key);
  if (probes.length === 0)
    throw new GatewayError(
      'not_found',
      'Nothing free can be asked of this provider; try a call in the playground.',
      {
        param: key === undefined ? 'provider' : 'key',
      },
    );
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

async function decide(host: Needs, book: HealthBook, decision: Decision) {
  await decideForAll(host, book, decision);
  await writeHolds(host, () => book.holds.list());
  return buildOverview(host, book);
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

const testOrder = z.strictObject({ key });

const defineOperation = createDefiner<Health>();

const providerOperations = [
  defineOperation({
    route: 'GET /admin/providers',
    summary: 'Show the health of all providers, as the router sees it',
    roles: roles.read,
    run: ({ host, book }) => buildOverview(host, book),
  }),
  defineOperation({
    route: 'POST /admin/providers/:provider/rest',
    summary: 'Take a provider, a key or a model out of service for a while',
    roles: roles.manage,
    input: restOrder.prefault({}),
    async run({ host, book }, { seconds, ...order }, { provider }) {
      checkPlace(host, provider, order);
      const hold = { ...order, provider, until: Date.now() + seconds * 1000 };
      return decide(host, book, { hold });
    },
  }),
  defineOperation({
    route: 'POST /admin/providers/:provider/wake',
    summary: 'End a rest and close the circuit',
    roles: roles.manage,
    input: placeOrder.prefault({}),
    async run({ host, book }, place, { provider }) {
      checkPlace(host, provider, place);
      return decide(host, book, { wake: { ...place, provider } });
    },
  }),
  defineOperation({
    route: 'POST /admin/providers/:provider/test',
    summary: 'Ask a provider whether it is there and accepts the key; costs nothing',
    roles: roles.manage,
    input: testOrder.prefault({}),
    run: ({ host }, { key }, { provider }) => testProvider(host, provider, key),
  }),
];

export function createProviderRoutes(host: Needs, getBook: () => HealthBook): Route[] {
  return listOperationRoutes(providerOperations, () => ({ host, book: getBook() }));
}
