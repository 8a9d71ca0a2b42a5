/** Routes for operators: the health of providers as the router sees it, rest, wake and a test of the key. */
import {
  GatewayError,
  type Examination,
  type Host,
  type Route,
  type RouteRequest,
} from '../../../core/index.ts';
import { buildOperatorRoutes, readInput } from '../../shared/operator-routes.ts';
import type { HealthBook } from './book.ts';
import { writeHolds } from './kept-holds.ts';
import { placeOrder, restOrder, testOrder } from './orders.ts';
import { describeProviders } from './overview.ts';
import { decideForAll, collectRows, type Decision } from './workers.ts';

type Needs = Pick<Host, 'providers' | 'catalog' | 'examinations' | 'workers' | 'dataFolder' | 'logger'>;

/** A plugin names the examination of each key of a provider `<provider> <key>`. */
function listProbes({ examinations }: Needs, provider: string): { key: number; probe: Examination }[] {
  return [...examinations.list()].flatMap((probe) => {
    const [, name, key] = /^(.+) (\d+)$/.exec(probe.name) ?? [];
    return name === provider ? [{ key: Number(key), probe }] : [];
  });
}

async function buildOverview(host: Needs, book: HealthBook): Promise<object> {
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
function requireProvider({ providers }: Needs, { params: { provider = '' } }: RouteRequest): string {
  if (providers.find(provider)) return provider;
  const known = [...providers.list()].map(({ name }) => name).join(', ') || 'none';
  throw new GatewayError('not_found', `There is no such provider; there are: ${known}.`, {
    param: 'provider',
  });
}

/** Throws `not_found` if the provider has no such model or key. */
function checkPlace(
  { catalog }: Needs,
  provider: string,
  { model, key }: { model?: string | undefined; key?: number | undefined },
): void {
  const models = model === undefined ? catalog.listModels().map(({ id }) => id) : [model];
  const offers = models.flatMap((id) => catalog.find(id)).filter((offer) => offer.provider.name === provider);
  if (model !== undefined && offers.length === 0)
    throw new GatewayError('not_found', 'The provider does not offer this model.', { param: 'model' });
  if (key !== undefined && !offers.some((offer) => (offer.provider.credential ?? 1) === key))
    throw new GatewayError('not_found', 'The provider has no key of this number.', { param: 'key' });
}

async function testProvider(host: Needs, provider: string, key: number | undefined): Promise<object> {
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

async function decide(host: Needs, book: HealthBook, decision: Decision): Promise<object> {
  await decideForAll(host.workers, book, decision);
  await writeHolds(host, () => book.holds.list());
  return buildOverview(host, book);
}

export function createProviderRoutes(host: Needs, book: () => HealthBook): Route[] {
  const handlers = {
    'GET /admin/providers': () => buildOverview(host, book()),
    async 'POST /admin/providers/:provider/rest'(request: RouteRequest) {
      const provider = requireProvider(host, request);
      const { seconds, ...order } = readInput(restOrder, request.body ?? {});
      checkPlace(host, provider, order);
      const hold = { ...order, provider, until: Date.now() + seconds * 1000 };
      return decide(host, book(), { hold });
    },
    async 'POST /admin/providers/:provider/wake'(request: RouteRequest) {
      const provider = requireProvider(host, request);
      const place = readInput(placeOrder, request.body ?? {});
      checkPlace(host, provider, place);
      return decide(host, book(), { wake: { ...place, provider } });
    },
    'POST /admin/providers/:provider/test': (request: RouteRequest) =>
      testProvider(host, requireProvider(host, request), readInput(testOrder, request.body ?? {}).key),
  };
  return buildOperatorRoutes(handlers, () => import('./description.ts'));
}
