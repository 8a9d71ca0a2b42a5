/** The memory of bodies: limits, shares, the rate at which bodies arrive, and the memory of replies. */
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { checkConfig } from '../../core/config.ts';
import { BodyBudget, computeBodyLimits } from '../../core/http/bodies.ts';
import {
  computeRepliesLimit,
  ReplyBudget,
  ReplyMemory,
  weighBytes,
  weighWhole,
} from '../../core/http/reply-memory.ts';

const MiB = 1024 * 1024;
const GiB = 1024 * MiB;

it.each([
  [1, GiB, 4 * GiB, 128],
  [1, 2 * GiB, 4 * GiB, 256],
  [1, 64 * GiB, 4 * GiB, 512],
  [4, 4 * GiB, 4 * GiB, 128],
  [1, Infinity, Infinity, 512],
  [1, 64 * GiB, 192 * MiB, 8],
  [4, 64 * GiB, 192 * MiB, 8],
  [1, 64 * GiB, 100 * MiB, 1],
])(
  'the default limit of bodies is, for %d workers in %d bytes of memory with a heap of %d, %d MiB',
  (workers, memory, heap, most) => {
    expect(computeBodyLimits({ workers }, { memory, heap })).toEqual({
      bodiesLimit: most * MiB,
      bodyLimit: Math.min(32, most) * MiB,
    });
  },
);

it('the limit of bodies allows one of the configured size, however little memory there is', () => {
  const small = { memory: 100 * MiB, heap: 100 * MiB };
  expect(computeBodyLimits({ workers: 1, bodyLimit: 32 * MiB }, small).bodiesLimit).toBe(32 * MiB);
  expect(computeBodyLimits({ workers: 1, bodiesLimit: 5 * MiB }, small).bodyLimit).toBe(5 * MiB);
  expect(checkConfig({ server: { bodyLimit: 600 * MiB }, plugins: [] }, 'test').server.bodiesLimit).toBe(
    600 * MiB,
  );
});

it('the limit of bodies follows the memory of the machine unless it is configured', () => {
  const { bodiesLimit, bodyLimit } = checkConfig({ plugins: [] }, 'test').server;
  expect({ bodiesLimit, bodyLimit }).toEqual(computeBodyLimits({ workers: 1 }));
  expect(
    checkConfig({ server: { bodiesLimit: bodiesLimit + 1 }, plugins: [] }, 'test').server.bodiesLimit,
  ).toBe(bodiesLimit + 1);
  expect(() => checkConfig({ server: { bodyLimit: 2, bodiesLimit: 1 }, plugins: [] }, 'test')).toThrow(
    'must not be smaller',
  );
});

const failWith = (code: string, text: string) =>
  expect.objectContaining({ code, message: expect.stringContaining(text) });

const kib = 1024;
const limits = { bodyLimit: 800 * kib, bodiesLimit: 1600 * kib, bodyRate: 4096 };
const ada = { key: 'ada', account: 'search' };

it('bodies share one limit, of which a key has a quarter and an account a half', () => {
  const bodies = new BodyBudget(limits);
  const [first, second, third, fourth] = [ada, ada, { ...ada, key: 'bob' }, { ...ada, key: 'cid' }].map(
    (owner) => bodies.openShare(owner),
  );
  first?.take(300 * kib);
  expect(() => second?.take(200 * kib)).toThrow(failWith('rate_limited', 'This API key'));
  third?.take(400 * kib);
  expect(() => fourth?.take(200 * kib)).toThrow(failWith('rate_limited', 'This account'));
  const other = bodies.openShare({ key: 'dan', account: 'other' });
  other.take(800 * kib);
  const last = bodies.openShare({ key: 'eve', account: 'last' });
  expect(() => last.take(200 * kib)).toThrow(failWith('overloaded', 'its limit for large requests'));
  for (const share of [first, second, third, fourth, other]) share?.release();
  last.take(800 * kib);
});

it('bodies are accepted one at a time whatever the share, and again once they are released', () => {
  const bodies = new BodyBudget(limits);
  for (let round = 0; round < 3; round += 1) {
    const [alone, next] = [bodies.openShare(ada), bodies.openShare(ada)];
    for (let piece = 0; piece < 8; piece += 1) alone.take(100 * kib);
    expect(() => next.take(100 * kib)).toThrow(failWith('rate_limited', 'This API key'));
    for (const share of [alone, next, alone]) share.release();
  }
});

it('bodies leave a reserve to small ones, of the same key too', () => {
  const bodies = new BodyBudget({ ...limits, bodiesPerKey: 800 * kib, bodiesPerAccount: 1600 * kib });
  for (const key of ['one', 'two']) bodies.openShare({ key, account: 'a' }).take(800 * kib);
  for (const key of ['one', 'two', 'three']) bodies.openShare({ key, account: 'a' }).take(64 * kib);
  expect(() => bodies.openShare({ key: 'three', account: 'b' }).take(65 * kib)).toThrow(
    failWith('overloaded', ''),
  );
  bodies.openShare({ key: 'one', account: 'a' }).take(8 * kib);
  expect(() => bodies.openShare({ key: 'one', account: 'a' }).take(64 * kib)).toThrow(
    failWith('rate_limited', ''),
  );
});

describe('a body that arrives slowly', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** A request, and what its client sends of it. */
  function openRequest(headers: Record<string, string>) {
    const request = new IncomingMessage(new Socket());
    let bytesRead = 500;
    Object.defineProperty(request.socket, 'bytesRead', { get: () => bytesRead });
    Object.assign(request.headers, headers);
    const send = (bytes: number): void => {
      bytesRead += bytes;
      request.push(Buffer.alloc(bytes));
    };
    const bodies = new BodyBudget({ bodyLimit: 1e6, bodiesLimit: 4e6, bodyRate: 1000 });
    let outcome = 'open';
    bodies
      .openShare({ key: 'k', account: 'a' })
      .read(request)
      .then(
        ({ length }) => (outcome = `read ${length}`),
        (error: Error) => (outcome = `${Reflect.get(error, 'status')}: ${error.message}`),
      );
    const end = (): void => {
      request.complete = true;
      request.push(null);
    };
    return { send, end, readOutcome: () => outcome };
  }

  it('is cut within twenty seconds of its last byte, whatever came before', async () => {
    const { send, readOutcome } = openRequest({ 'content-length': '900000' });
    send(899_999);
    await vi.advanceTimersByTimeAsync(10_001);
    expect(readOutcome()).toBe('open');
    await vi.advanceTimersByTimeAsync(10_000);
    expect(readOutcome()).toBe('408: The body arrives too slowly: it takes at least 1000 bytes a second.');
  });

  it('is cut too if it does not state its length, or sends a byte now and then', async () => {
    const { send, readOutcome } = openRequest({});
    send(100_000);
    for (let second = 0; second < 21; second += 1) {
      send(1);
      await vi.advanceTimersByTimeAsync(1000);
    }
    expect(readOutcome()).toMatch(/^408/);
  });

  it('is read if it keeps the rate', async () => {
    const { send, end, readOutcome } = openRequest({ 'content-length': '100000' });
    for (let second = 0; second < 100; second += 1) {
      send(1000);
      await vi.advanceTimersByTimeAsync(1000);
    }
    end();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(readOutcome()).toBe('read 100000');
  });

  it('is waited for if it is small', async () => {
    for (const headers of [{ 'content-length': '60000' }, {}]) {
      const { send, end, readOutcome } = openRequest(headers);
      send(59_999);
      await vi.advanceTimersByTimeAsync(100_000);
      send(1);
      end();
      await vi.advanceTimersByTimeAsync(1);
      expect(readOutcome()).toBe('read 60000');
    }
  });
});

it.each([
  [1, 64 * GiB, 4 * GiB, 128],
  [1, GiB, 4 * GiB, 32],
  [4, GiB, 4 * GiB, 8],
  [1, 64 * GiB, 192 * MiB, 6],
  [1, 256 * MiB, 192 * MiB, 6],
])(
  'the default limit of replies is, for %d workers in %d bytes of memory with a heap of %d, %d MiB',
  (workers, memory, heap, most) => {
    expect(computeRepliesLimit({ workers }, { memory, heap })).toBe(most * MiB);
  },
);

it('the limit of replies follows memory and heap of the machine unless it is configured', () => {
  expect(checkConfig({ plugins: [] }, 'test').server.repliesLimit).toBe(computeRepliesLimit({ workers: 1 }));
  expect(checkConfig({ server: { repliesLimit: 5 }, plugins: [] }, 'test').server.repliesLimit).toBe(5);
});

const budget = new ReplyBudget({ repliesLimit: 1000 });
const free = 64 * 1024;

it('the memory of replies is one budget of all calls, with a little of each uncounted', () => {
  const [first, second, third] = [new ReplyMemory(budget), new ReplyMemory(budget), new ReplyMemory(budget)];
  first.add(free + 600);
  expect(() => second.add(free + 600)).toThrow(expect.objectContaining({ code: 'overloaded' }));
  expect(() => third.add(free + 1001)).toThrow(expect.objectContaining({ code: 'upstream_failed' }));
  second.add(free + 350);
  expect(() => budget.checkRoom()).toThrow(
    expect.objectContaining({ code: 'overloaded', details: expect.objectContaining({ retryAfter: 2 }) }),
  );
  third.add(free);
  first.reset();
  expect(() => budget.checkRoom()).not.toThrow();
  first.add(free + 600);
  for (const memory of [first, second, third]) memory.release();
  // Anything after that is not counted.
  first.add(free + 600);
  const all = new ReplyMemory(budget);
  all.add(free + 1000);
  all.release();
});

const structure = '[{},{},1]';
it.each([
  `"${'[{,'.repeat(100)}"`,
  '""',
  String.raw`"\""`,
  String.raw`"${'[,'.repeat(40)}\""`,
  String.raw`"${'[,'.repeat(40)}\\"`,
  '1.5',
])('the structure around %.20s is weighed, and nothing that is in a string', (value) => {
  const text = `{"a":${value},"b":${structure},"c":"${'{'.repeat(90)}"}`;
  const [whole, bare] = [text, `{1,${structure},1}`].map((each) => Buffer.from(each));
  expect(weighWhole(whole ?? Buffer.alloc(0))).toBe(weighBytes(bare ?? Buffer.alloc(0)));
});

it('what a string that does not end hides is weighed to its beginning', () => {
  expect(weighWhole(Buffer.from(`${structure}"[[[[`))).toBe(weighBytes(Buffer.from(structure)));
});
