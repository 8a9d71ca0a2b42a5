/** The catalogue: several providers and keys for one model, aliases, and retired models. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Catalog } from '../../core/catalog.ts';
import { checkModel, type Provider } from '../../core/index.ts';
import { freePrice } from '../../core/price.ts';
import type { Protocol } from '../../core/protocol.ts';
import { createTargetFinder } from '../../core/upstream/targets.ts';
import { Registry } from '../../core/util/registry.ts';
import { plainProtocol } from '../support/plain-protocol.ts';
import { buildModelFacts } from '../support/test-provider.ts';

beforeEach(() => void vi.useFakeTimers({ now: new Date('2026-03-01T12:00:00Z') }));
afterEach(() => void vi.useRealTimers());

const provider = (name: string, credential?: number): Provider => ({
  name,
  endpoints: {},
  sign: (request) => request,
  ...(credential === undefined ? {} : { credential }),
});
const model = (facts: Parameters<typeof buildModelFacts>[0] = {}) => checkModel(buildModelFacts(facts));

function createCatalog(...models: ReturnType<typeof model>[]): Catalog {
  const made = new Catalog();
  made.offer(provider('p'), models);
  return made;
}

it('the shared catalogue protects models and targets from changes by a call', () => {
  const made = new Catalog();
  const served: Provider = { ...provider('p'), endpoints: { plain: 'http://vendor.invalid' } };
  made.offer(served, [model({ id: 'house/one' })]);
  const protocols = new Registry<Protocol>('protocol');
  protocols.add(plainProtocol);
  const targets = createTargetFinder(made, protocols)('house/one', plainProtocol);
  const [target] = targets;
  if (!target) throw new Error('no target');
  expect(() => Reflect.apply(Array.prototype.pop, targets, [])).toThrow(TypeError);
  for (const shared of [target, target.model, target.model.capabilities, target.price])
    expect(Object.isFrozen(shared)).toBe(true);
});

const models = [
  model({ id: 'house/old', expires: '2026-03-31', successor: 'house/new' }),
  model({ id: 'house/new' }),
  model({ id: 'house/last', expires: '2026-04-30' }),
];

it('the catalog serves a model through its last day, and then names its successor', () => {
  const made = createCatalog(...models);
  expect(made.find('house/old')).toHaveLength(1);
  vi.setSystemTime(new Date('2026-03-31T23:59:59Z'));
  expect(made.find('house/old')).toHaveLength(1);
  vi.setSystemTime(new Date('2026-04-01T00:00:00Z'));
  expect(made.find('house/old')).toEqual([]);
  expect(made.listModels().map(({ id }) => id)).toEqual(['house/new', 'house/last']);
  expect(made.buildMissingError('house/old').message).toBe(
    'The model "house/old" was withdrawn after 2026-03-31. Use "house/new" instead.',
  );
  vi.setSystemTime(new Date('2026-05-01T00:00:00Z'));
  expect(made.find('house/last')).toEqual([]);
  expect(made.buildMissingError('house/last')).toMatchObject({
    code: 'model_not_found',
    message: 'The model "house/last" was withdrawn after 2026-04-30.',
    details: { param: 'model' },
  });
});

it('the catalog serves a model again after the clock jumped past its last day and back', () => {
  const made = createCatalog(...models);
  const version = made.version;
  vi.setSystemTime(new Date('2027-01-01T00:00:00Z'));
  expect(made.find('house/old')).toEqual([]);
  vi.setSystemTime(new Date('2026-03-01T12:00:01Z'));
  expect(made.find('house/old')).toHaveLength(1);
  expect(made.listModels().map(({ id }) => id)).toEqual(['house/old', 'house/new', 'house/last']);
  expect(made.version).toBe(version + 2);
  vi.setSystemTime(new Date('2026-04-01T00:00:00Z'));
  expect(made.find('house/old')).toEqual([]);
});

it('the catalog takes back a price that holds only after the clock jumped ahead', () => {
  const made = createCatalog(...models);
  const later = Date.parse('2026-09-01');
  const dear = { ...freePrice, name: 'dear' };
  made.setPrices({
    find: (_provider, _model, _own, at) => (at >= later ? dear : undefined),
    findNextChange: (at) => (at < later ? later : Infinity),
  });
  vi.setSystemTime(later);
  expect(made.find('house/new')[0]?.price.name).toBe('dear');
  vi.setSystemTime(new Date('2026-03-01T12:00:01Z'));
  expect(made.find('house/new')[0]?.price.name).toBeUndefined();
});

it('the catalog invalidates cached renderings of the catalogue when a model retires', () => {
  const made = createCatalog(...models);
  const before = made.version;
  vi.setSystemTime(new Date('2026-04-02T00:00:00Z'));
  expect(made.version).toBeGreaterThan(before);
  expect(made.version).toBe(made.version);
});

it('the catalog keeps serving a model from a provider that still offers it', () => {
  const made = createCatalog(...models);
  made.offer(provider('other'), [model({ id: 'house/old' })]);
  vi.setSystemTime(new Date('2026-04-02T00:00:00Z'));
  expect(made.find('house/old').map((offer) => offer.provider.name)).toEqual(['other']);
});

it('the catalog finds a model by alias or canonical slug, unless another model has that id', () => {
  const made = createCatalog(
    model({ id: 'house/one', aliases: ['house/first', 'house/two'], canonicalSlug: 'house/one-20260101' }),
    model({ id: 'house/two' }),
  );
  for (const id of ['house/one', 'house/first', 'house/one-20260101'])
    expect(made.find(id)[0]?.model.id).toBe('house/one');
  expect(made.find('house/two')[0]?.model.id).toBe('house/two');
  expect(made.find('house/none')).toEqual([]);
  expect(made.listModels()).toHaveLength(2);
});

it('the catalog refuses an unknown id by name', () => {
  expect(createCatalog().buildMissingError('house/none', 'provider.fallback')).toMatchObject({
    code: 'model_not_found',
    details: { param: 'provider.fallback' },
    message: expect.stringContaining('house/none'),
  });
});

it('the catalog orders targets as configured, each key separate, and lists a model once', () => {
  const made = new Catalog();
  made.offer(provider('a', 1), [model()]);
  made.offer(provider('a', 2), [model()]);
  made.offer(provider('b'), [model({ name: 'As b calls it' })]);
  expect(made.find('house/model').map((offer) => [offer.provider.name, offer.provider.credential])).toEqual([
    ['a', 1],
    ['a', 2],
    ['b', undefined],
  ]);
  expect(made.listModels().map(({ name }) => name)).toEqual(['Model']);
});
