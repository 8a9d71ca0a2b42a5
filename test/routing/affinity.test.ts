/** The calls of a conversation go to the provider that has its cache, until that one is unhealthy. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { GatewayError } from '../../core/index.ts';
import { affinity } from '../../plugins/routing/affinity.ts';
import { balanced } from '../../plugins/routing/balanced.ts';
import { health } from '../../plugins/routing/health.ts';
import { keys } from '../../plugins/routing/keys.ts';
import { openWorkerPair, buildTarget, Traffic, type Call, type Vendor } from '../support/traffic.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const targets = [buildTarget('a', {}, 1), buildTarget('a', {}, 2), buildTarget('b')];
const answerWell: Vendor = () => ({ after: 10 });
const padding = 'x'.repeat(5000);

/** A call of a conversation: it starts like all its calls, and is longer each time. */
const buildCall = (topic: string, turns = 1): Call => ({
  text:
    `{"model":"m","messages":[{"role":"system","content":"${padding}"},{"role":"user",` +
    `"content":"${topic}"}${',{}'.repeat(turns)}]}`,
});

async function openTraffic(vendor: Vendor = answerWell): Promise<Traffic> {
  const started = new Traffic([balanced({ byDefault: true }), keys(), health(), affinity()], vendor);
  await started.open();
  return started;
}

async function findHomes(started: Traffic, calls: readonly Call[]): Promise<string[]> {
  const found: string[] = [];
  for (const call of calls) {
    const outcome = started.call(targets, call);
    await vi.advanceTimersByTimeAsync(100);
    const { provider, credential } = await outcome;
    found.push(`${provider} ${credential ?? ''}`);
  }
  return found;
}

it('a conversation stays with one provider and one key, while others go elsewhere', async () => {
  const started = await openTraffic();
  const topics = Array.from({ length: 30 }, (_, index) => `topic ${index}`);
  const first = await findHomes(
    started,
    topics.map((topic) => buildCall(topic)),
  );
  expect(new Set(first).size).toBe(3);
  for (const turns of [2, 5])
    expect(
      await findHomes(
        started,
        topics.map((topic) => buildCall(topic, turns)),
      ),
    ).toEqual(first);
});

it.each([
  ['a session of its own', { headers: { 'x-session-id': 'session-1' } }],
  ['a key for its cache', { text: `{"prompt_cache_key":"key-1","input":"${padding}"}` }],
])('a conversation is recognised by %s', async (_, call) => {
  const started = await openTraffic();
  const calls = Array.from({ length: 12 }, (_, index): Call => ({
    text: `{"input":"${padding}${index}"}`,
    ...call,
  }));
  expect(new Set(await findHomes(started, calls)).size).toBe(1);
});

it('a conversation moves if its provider is unhealthy, and stays where it moved', async () => {
  let broken = '';
  const started = await openTraffic(({ provider }) => ({
    after: 10,
    ...(`${provider.name} ${provider.credential ?? ''}` === broken
      ? { error: new GatewayError('rate_limited', 'Full.', { retryAfter: 60 }), status: 429 }
      : {}),
  }));
  const [home = ''] = await findHomes(started, [buildCall('one')]);
  broken = home;
  const [moved] = await findHomes(started, [buildCall('one', 2)]);
  expect(moved).not.toBe(home);
  broken = '';
  expect(
    await findHomes(
      started,
      Array.from({ length: 8 }, (_, turn) => buildCall('one', turn)),
    ),
  ).toEqual(Array.from({ length: 8 }, () => moved));
});

it('a conversation stays with its target in all workers, and moves in all of them', async () => {
  let broken = '';
  const vendor: Vendor = ({ provider }) => ({
    after: 10,
    ...(`${provider.name} ${provider.credential ?? ''}` === broken
      ? { error: new GatewayError('rate_limited', 'Full.', { retryAfter: 60 }), status: 429 }
      : {}),
  });
  const [one, other] = await openWorkerPair(
    () => [balanced({ byDefault: true }), keys(), health(), affinity()],
    vendor,
    targets,
  );
  const topics = Array.from({ length: 20 }, (_, index) => buildCall(`topic ${index}`));
  const first = await findHomes(one, topics);
  expect(new Set(first).size).toBe(3);
  expect(await findHomes(other, topics)).toEqual(first);
  broken = first[0] ?? '';
  const [moved] = await findHomes(other, topics.slice(0, 1));
  expect(moved).not.toBe(broken);
  broken = '';
  await Traffic.wait(70_000);
  expect(await findHomes(one, topics.slice(0, 1))).toEqual([moved]);
});

it('a conversation is forgotten when its cache has expired', async () => {
  const started = await openTraffic();
  const [home] = await findHomes(started, [buildCall('one')]);
  const later: (string | undefined)[] = [];
  for (let hour = 0; hour < 12; hour += 1) {
    await Traffic.wait(3_700_000);
    later.push(...(await findHomes(started, [buildCall('one')])));
  }
  expect(later.some((each) => each !== home)).toBe(true);
});

it('a conversation goes elsewhere if the client sets an order, or it is too short for a cache', async () => {
  const started = await openTraffic();
  await findHomes(started, [buildCall('one')]);
  const ordered = await started.route(targets, { ...buildCall('one'), preferences: { order: ['a', 'b'] } });
  expect(ordered).toHaveLength(3);
  const short = Array.from({ length: 20 }, (): Call => ({
    text: '{"messages":[{"role":"user","content":"Hi"}]}',
  }));
  expect(new Set(await findHomes(started, short)).size).toBe(3);
});
