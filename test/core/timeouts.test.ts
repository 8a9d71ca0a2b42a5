/** How long a target may be silent: the operator's timeout, otherwise one computed from the request. */
import { expect, it } from 'vitest';
import type { ClientCall, Target } from '../../core/index.ts';
import { computeTimeouts } from '../../core/upstream/attempt-timeouts.ts';
import { buildRouted } from '../support/exchange.ts';
import { buildTarget } from '../support/traffic.ts';

const plain = buildTarget('a');
const thinker = buildTarget('a', { capabilities: { reasoning: { style: 'effort' } } });
const painter = buildTarget('a', { output: ['image'] });

/** Seconds to the first event, or to the whole reply. */
function computeSeconds(
  call: Partial<ClientCall>,
  target: Target = plain,
  chosen: Parameters<typeof computeTimeouts>[2] = {},
): number {
  const exchange = buildRouted(target);
  const asked = {
    ...exchange,
    call: { ...exchange.call, stream: true, size: { textBytes: 0, images: 0, mediaBytes: 0 }, ...call },
  };
  return computeTimeouts(asked, target, chosen).firstEvent / 1000;
}

const buildSize = (textBytes: number): Partial<ClientCall> => ({
  size: { textBytes, images: 0, mediaBytes: 0 },
});

it('stream timeouts allows a stream 45 seconds, and one more for each 40 kB of input', () => {
  expect([
    computeSeconds({}),
    computeSeconds(buildSize(40_000)),
    computeSeconds(buildSize(4_000_000)),
  ]).toEqual([45, 46, 145]);
});

it.each<[ClientCall['effort'], number]>([
  ['none', 45],
  ['minimal', 50],
  ['low', 60],
  ['medium', 75],
  ['high', 135],
  ['xhigh', 225],
  ['max', 225],
  [0, 45],
  [3000, 75],
  [100_000, 225],
])('stream timeouts adds time to reason for the effort %s', (effort, expected) => {
  expect(computeSeconds({ effort })).toBe(expected);
});

it('stream timeouts assumes medium effort for a model that reasons by default', () => {
  expect([computeSeconds({}, thinker), computeSeconds({ effort: 'none' }, thinker)]).toEqual([75, 45]);
});

it('stream timeouts allows time for a picture, up to 300 seconds in all', () => {
  expect([computeSeconds({}, painter), computeSeconds({ effort: 'max', ...buildSize(40_000_000) })]).toEqual([
    285, 300,
  ]);
});

it('the timeout of a JSON reply adds 0.1 s for each token of the output limit, up to 600 s', () => {
  const computeWhole = (outputLimit: number | undefined): number =>
    computeSeconds({ stream: false, outputLimit });
  expect([computeWhole(100), computeWhole(4000), computeWhole(100_000), computeWhole(undefined)]).toEqual([
    55, 445, 600, 600,
  ]);
  expect(computeSeconds({ stream: false, outputLimit: 100 }, painter)).toBe(600);
});

it("prefers the provider's timeouts to the gateway's, and those to the computed ones", () => {
  const chosen = { firstEvent: 7000, reply: 8000 };
  const own: Target = {
    ...plain,
    provider: { ...plain.provider, patience: { firstEvent: 5000, reply: 6000 } },
  };
  expect([computeSeconds({}, plain, chosen), computeSeconds({ stream: false }, plain, chosen)]).toEqual([
    7, 8,
  ]);
  expect([computeSeconds({}, own, chosen), computeSeconds({ stream: false }, own, chosen)]).toEqual([5, 6]);
});
