/** `allow_fallbacks: false` keeps a call at one provider and one model, whatever state they are in. */
import fc from 'fast-check';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { GatewayError, type Plugin, type Preferences } from '../../core/index.ts';
import { affinity } from '../../plugins/routing/affinity.ts';
import { health } from '../../plugins/routing/health.ts';
import { keys } from '../../plugins/routing/keys.ts';
import { preferences } from '../../plugins/routing/preferences.ts';
import { priority } from '../../plugins/routing/priority.ts';
import { buildTarget, Traffic, type Vendor } from '../support/traffic.ts';
import { buildFullError, down } from './failing-providers.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const alone: Preferences = { allow_fallbacks: false };
const targets = [
  buildTarget('chosen', {}, 1),
  buildTarget('chosen', {}, 2),
  buildTarget('other'),
  buildTarget('chosen', { id: 'house/smaller' }),
];
const barred = new GatewayError('upstream_failed', 'The provider refuses the key.');

async function openTraffic(vendor: Vendor, whenAllFail: 'ask' | 'refuse' = 'ask'): Promise<Traffic> {
  const plugins: Plugin[] = [
    preferences(),
    priority({ order: ['chosen'] }),
    keys(),
    health({ pause: 5, whenAllFail }),
    affinity({ from: 0 }),
  ];
  const started = new Traffic(plugins, vendor, { retries: { attempts: 1 } });
  await started.open();
  return started;
}

it.each<[string, Vendor]>([
  ['whose circuit is open', () => ({ after: 10, error: down })],
  ['whose keys are at their limit', () => ({ after: 10, error: buildFullError(60), status: 429 })],
  ['whose keys were refused', () => ({ after: 10, error: barred, status: 401 })],
])(
  'a call without fallbacks goes to the one provider %s, and never to another provider or model',
  async (_, fault) => {
    const started = await openTraffic((target, number) =>
      target.provider.name === 'chosen' ? fault(target, number) : { after: 10 },
    );
    for (let index = 0; index < 12; index += 1) {
      void started.call(targets, { text: `conversation ${index}` });
      await Traffic.wait(50);
    }
    const asked = started.asked.get('other');
    for (let index = 0; index < 12; index += 1) {
      expect(
        new Set((await started.route(targets, { preferences: alone })).map(({ model }) => model.id)),
      ).toEqual(new Set(['house/model']));
      const call = started.call(targets, { preferences: alone });
      await Traffic.wait(50);
      expect(await call).toMatchObject({ provider: undefined, attempts: 1 });
    }
    expect(started.asked.get('other')).toBe(asked);
    // Without the wish the other one answers.
    const call = started.call(targets);
    await Traffic.wait(50);
    expect(await call).toMatchObject({ provider: 'other' });
  },
);

it('a call without fallbacks uses the key that works, since a key is no other provider', async () => {
  const started = await openTraffic(({ provider }) =>
    provider.credential === 1 ? { after: 10, error: barred, status: 401 } : { after: 10 },
  );
  const call = async (wanted?: Preferences) => {
    const ended = started.call(targets, wanted ? { preferences: wanted } : {});
    await Traffic.wait(50);
    return ended;
  };
  for (let index = 0; index < 4; index += 1) await call();
  for (let index = 0; index < 6; index += 1)
    expect(await call(alone)).toMatchObject({ provider: 'chosen', credential: 2 });
});

it('a call without fallbacks is refused if its failing provider is not to be asked', async () => {
  const started = await openTraffic(
    ({ provider }) => ({ after: 10, ...(provider.name === 'chosen' ? { error: down } : {}) }),
    'refuse',
  );
  for (let index = 0; index < 12; index += 1) {
    void started.call(targets, { text: `conversation ${index}` });
    await Traffic.wait(50);
  }
  const call = started.call(targets, { preferences: alone });
  await Traffic.wait(50);
  expect(await call).toMatchObject({
    provider: undefined,
    sent: 0,
    error: { code: 'upstream_overloaded' },
  });
});

it('a call without fallbacks stays where the caller says, though its cache is elsewhere', async () => {
  let isDown = true;
  const started = await openTraffic(({ provider }) => ({
    after: 10,
    ...(isDown && provider.name === 'chosen' ? { error: barred, status: 401 } : {}),
  }));
  const call = async (wanted: Preferences) => {
    const ended = started.call(targets, { preferences: wanted, text: 'x'.repeat(5000) });
    await Traffic.wait(50);
    return (await ended).provider;
  };
  expect(await call({})).toBe('other');
  isDown = false;
  await Traffic.wait(61_000);
  expect(await call({})).toBe('other');
  expect(await call(alone)).toBe('chosen');
});

it('a call without fallbacks never leaves its first target, whatever failed before', async () => {
  const deed = fc.constantFrom('well', 'down', 'full', 'barred');
  await fc.assert(
    fc.asyncProperty(fc.array(fc.record({ deed, alone: fc.boolean() }), { maxLength: 40 }), async (steps) => {
      let current = 'well';
      const sent: string[] = [];
      const started = await openTraffic(({ provider, model }) => {
        sent.push(`${provider.name} ${model.id}`);
        if (provider.name !== 'chosen' || current === 'well') return { after: 10 };
        if (current === 'down') return { after: 10, error: down };
        return current === 'full'
          ? { after: 10, error: buildFullError(7), status: 429 }
          : { after: 10, error: barred, status: 403 };
      });
      for (const step of steps) {
        current = step.deed;
        sent.length = 0;
        const call = started.call(targets, step.alone ? { preferences: alone } : {});
        await Traffic.wait(300);
        await call;
        if (step.alone) expect(new Set(sent)).toEqual(new Set(['chosen house/model']));
      }
    }),
    { numRuns: 40 },
  );
});
