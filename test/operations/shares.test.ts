/** Fair shares of a full gateway: as laws of the order, and over sockets with both counters. */
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Plugin } from '../../core/index.ts';
import { Cancellation } from '../../core/util/cancellation.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { openPostgres } from '../../plugins/meters/balance/postgres/open.ts';
import { rateLimits } from '../../plugins/operations/rate-limits.ts';
import { Counter, createLimiter } from '../../plugins/operations/rate-limits/counter.ts';
import { chooseNext, Shares, type Caller } from '../../plugins/operations/rate-limits/shares.ts';
import { openAccount } from '../balance/calls.ts';
import { chunk, ending } from '../support/chat-stream.ts';
import { openDatabase } from '../support/database.ts';
import type { TestGateway } from '../support/gateway.ts';
import { postJson } from '../support/post.ts';
import { answerWell, call, forgetGateways, start, startAnother, vendor } from './limited.ts';

const accounts = ['a', 'b', 'c', 'd'];
const weights: Readonly<Record<string, number>> = { a: 1, b: 2, c: 5, d: 0.5 };
const weigh = (account: string): number => weights[account] ?? 1;

const callers = (name: string) =>
  fc
    .array(fc.constantFrom(...accounts), { maxLength: 12 })
    .map((all): Caller[] => all.map((account, index) => ({ id: `${name}${index}`, account })));

const countFor = (all: readonly Caller[], account: string): number =>
  all.filter((each) => each.account === account).length / weigh(account);

it('no account gets a place while another waits that has less for its weight', () => {
  fc.assert(
    fc.property(callers('r'), callers('w'), fc.nat(8), (running, waiting, places) => {
      const chosen = chooseNext(running, waiting, places, { weigh, turns: new Map() });
      expect(chosen).toHaveLength(Math.min(places, waiting.length));
      for (const [index, { account }] of chosen.entries()) {
        const had = [...running, ...chosen.slice(0, index)];
        const left = waiting.filter((each) => !chosen.slice(0, index).includes(each));
        for (const other of left)
          expect(countFor(had, account)).toBeLessThanOrEqual(countFor(had, other.account));
        // Of an account, the first that came.
        expect(left.find((each) => each.account === account)).toBe(chosen[index]);
      }
    }),
  );
});

/** Calls of a test, run by hand on shares that count in this process. */
async function openShares(options: ConstructorParameters<typeof Shares>[0]) {
  const shares = new Shares(options, new Counter(await createLimiter(60)));
  onTestFinished(() => shares.close());
  const running: Caller[] = [];
  let made = 0;
  const enter = (account: string, cancellation = new Cancellation()) => {
    const id = `call-${(made += 1)}`;
    const principal = { kind: 'user', account, key: `${account}-key` } as const;
    const entered = shares.enter({ id, principal, cancellation });
    return entered.then(() => void running.push({ id, account }));
  };
  const end = async (caller: Caller) => {
    running.splice(running.indexOf(caller), 1);
    await shares.leave(caller.id);
  };
  return { enter, end, running };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

it('every call is served in time, in proportion to the weights of the accounts that wait', async () => {
  const queue = { for: 60_000, calls: 1000 };
  const { enter, end, running } = await openShares({ calls: 8, weights: { a: 3 }, queue });
  const waiting = [
    ...Array.from({ length: 100 }, () => enter('a')),
    ...Array.from({ length: 40 }, () => enter('b')),
    enter('late'),
  ];
  const served: Record<string, number> = {};
  for (let ended = 0; ended < 141; ended += 1) {
    await expect.poll(() => running.length).toBe(Math.min(8, 141 - ended));
    const share = running.filter(({ account }) => account === 'a').length;
    // While both wait, six of eight places are of `a`: those that it had taken alone are passed on.
    if (ended > 20 && ended < 80) expect([5, 6]).toContain(share);
    const first = running[0];
    if (!first) break;
    served[first.account] = (served[first.account] ?? 0) + 1;
    if (first.account === 'late') expect(ended).toBeLessThan(20);
    await end(first);
  }
  await Promise.all(waiting);
  expect(served).toEqual({ a: 100, b: 40, late: 1 });
});

it('an account with one call waits for one turn where a crowd waits for a single place', async () => {
  const { enter, end, running } = await openShares({
    calls: 1,
    weights: { crowd: 10 },
    queue: { for: 60_000, calls: 50 },
  });
  const calls = [...Array.from({ length: 30 }, () => enter('crowd')), enter('one')];
  const order: string[] = [];
  for (let ended = 0; ended < 31; ended += 1) {
    await expect.poll(() => running.length).toBe(1);
    const [first] = running;
    if (!first) break;
    order.push(first.account);
    await end(first);
  }
  await Promise.all(calls);
  expect(order.indexOf('one')).toBeLessThan(12);
});

it('without a queue a place that becomes free is kept for the account that was refused', async () => {
  const { enter, end, running } = await openShares({ calls: 2, weights: {} });
  await enter('greedy');
  await enter('greedy');
  await expect(enter('modest')).rejects.toMatchObject({ code: 'rate_limited', details: { retryAfter: 1 } });
  if (running[0]) await end(running[0]);
  await expect(enter('greedy')).rejects.toMatchObject({ code: 'rate_limited' });
  await enter('modest');
  expect(running.map(({ account }) => account)).toEqual(['greedy', 'modest']);
});

it('a place is kept for no longer than a refused call is expected', async () => {
  const { enter, end, running } = await openShares({ calls: 1, weights: {} });
  await enter('greedy');
  await expect(enter('gone')).rejects.toMatchObject({ code: 'rate_limited' });
  if (running[0]) await end(running[0]);
  await expect
    .poll(
      () =>
        enter('greedy').then(
          () => 'in',
          () => 'out',
        ),
      { timeout: 30_000 },
    )
    .toBe('in');
});

it('a call whose client leaves the queue is forgotten, and its place goes to the next', async () => {
  const { enter, end, running } = await openShares({
    calls: 1,
    weights: {},
    queue: { for: 60_000, calls: 10 },
  });
  await enter('a');
  const leaving = new Cancellation();
  const left = enter('b', leaving);
  const next = enter('c');
  await settle();
  leaving.cancel();
  await expect(left).rejects.toMatchObject({ code: 'client_gone' });
  if (running[0]) await end(running[0]);
  await next;
  expect(running.map(({ account }) => account)).toEqual(['c']);
});

it('the queue is bounded in calls and in time', async () => {
  const { enter } = await openShares({ calls: 1, weights: {}, queue: { for: 300, calls: 1 } });
  await enter('a');
  const began = performance.now();
  const waits = enter('b');
  await settle();
  await expect(enter('c')).rejects.toMatchObject({ code: 'rate_limited' });
  await expect(waits).rejects.toMatchObject({ code: 'rate_limited' });
  expect(performance.now() - began).toBeGreaterThan(290);
});

it.each([
  [{ shares: { calls: 1, queue: { for: '2h' } } }, /a number and a unit/],
  [{ shares: { calls: 1, queue: { for: '90s' } } }, /at most a minute/],
  [{ shares: { calls: 0 } }, /calls/],
  [{ shares: { calls: 1, weights: { a: 0 } } }, /weights/],
])('an option that makes no sense is refused: %j', (options, message) => {
  expect(() => Reflect.apply(rateLimits, undefined, [options])).toThrow(message);
});

describe.each(['this process', 'a ledger in PostgreSQL'])('places counted in %s', (place) => {
  forgetGateways();
  const isShared = place !== 'this process';

  interface Opened {
    readonly gateways: readonly [TestGateway, TestGateway];
    readonly held: (() => void)[];
  }

  /** Two gateways that share a ledger, or one twice, and a vendor that answers when it is told. */
  async function open(shares: object): Promise<Opened> {
    const held: (() => void)[] = [];
    const hold = (...[response, , body]: Parameters<typeof answerWell>): void =>
      void held.push(() => answerWell(response, response.req, body));
    let ledger: Plugin[] = [];
    if (isShared) {
      const database = await openDatabase();
      const store = await openPostgres({ url: database.url });
      for (const account of ['a', 'b']) await openAccount(store, account, 10n ** 12n);
      await store.close();
      ledger = [balance({ store: { kind: 'postgres', url: database.url }, firstCredit: '0' })];
    }
    const limits = Object.assign({ shared: isShared }, { shares });
    const [one] = await Reflect.apply(start, undefined, [limits, hold, ledger]);
    const [, two = one] = isShared ? await Reflect.apply(startAnother, undefined, [limits, ledger]) : [one];
    return { gateways: [one, two], held };
  }

  it('an account that fills the gateway gives way to another that waits', async () => {
    const {
      gateways: [one, two],
      held,
    } = await open({ calls: 2, queue: { for: '60s' } });
    const greedy = [call(one, 'a-1'), call(two, 'a-1')];
    await expect.poll(() => held.length, { timeout: 60_000 }).toBe(2);
    greedy.push(call(one, 'a-1'), call(one, 'a-1'));
    const modest = call(two, 'b-1');
    // They are in the queue before a place becomes free.
    await new Promise((resolve) => setTimeout(resolve, 500));
    held.shift()?.();
    await modestIsNext(held, modest);
    const statuses = (await answerAll(held, greedy)).map(({ status }) => status);
    expect(statuses).toEqual([200, 200, 200, 200]);
  });

  async function modestIsNext(held: (() => void)[], modest: Promise<Response>): Promise<void> {
    await expect.poll(() => held.length, { timeout: 60_000 }).toBe(2);
    held.pop()?.();
    expect((await modest).status).toBe(200);
  }

  async function answerAll(held: (() => void)[], calls: Promise<Response>[]): Promise<Response[]> {
    const timer = setInterval(() => held.shift()?.(), 5);
    return Promise.all(calls).finally(() => clearInterval(timer));
  }

  it('a full gateway without a queue answers 429 with a retry-after in each protocol', async () => {
    const {
      gateways: [one, two],
      held,
    } = await open({ calls: 1 });
    const running = call(one, 'a-1');
    await expect.poll(() => held.length, { timeout: 60_000 }).toBe(1);
    const refused = await call(two, 'b-1');
    expect([refused.status, refused.headers.get('retry-after'), await refused.json()]).toMatchObject([
      429,
      '1',
      { error: { code: 'rate_limit_exceeded', message: expect.stringMatching(/runs 1 calls at once/) } },
    ]);
    const message = { model: 'house/model', max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }] };
    const headers = { 'x-key': 'b-1', 'anthropic-version': '2023-06-01' };
    const other = await postJson(`${two.url}/alpha/v1/messages`, message, headers);
    expect(await other.json()).toMatchObject({ type: 'error', error: { type: 'rate_limit_error' } });
    held.shift()?.();
    expect((await running).status).toBe(200);
  });

  it('a stream holds its place until its end, and a client that breaks it off frees it', async () => {
    const {
      gateways: [one, two],
    } = await open({ calls: 1 });
    const streams: (() => void)[] = [];
    vendor.conduct((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(chunk({ content: 'Hi' }));
      streams.push(() =>
        response.end(chunk({}, 'stop') + ending({ prompt_tokens: 1, completion_tokens: 1 })),
      );
    });
    const ask = async (signal?: AbortSignal) =>
      fetch(`${one.url}/v1/chat/completions`, {
        method: 'POST',
        body: JSON.stringify({
          model: 'house/model',
          stream: true,
          messages: [{ role: 'user', content: 'Hi' }],
        }),
        headers: { 'x-key': 'a-1' },
        signal: signal ?? null,
      });
    const first = await ask();
    expect([first.status, (await call(two, 'b-1')).status]).toEqual([200, 429]);
    streams.shift()?.();
    expect(await first.text()).toContain('[DONE]');
    const leaving = new AbortController();
    await expect.poll(async () => (await ask(leaving.signal)).status, { timeout: 60_000 }).toBe(200);
    leaving.abort();
    vendor.conduct(answerWell);
    await expect.poll(async () => (await call(two, 'b-1')).status, { timeout: 60_000 }).toBe(200);
  });

  it('a client that leaves the queue leaves no trace, and a stop answers those that wait', async () => {
    const {
      gateways: [one, two],
      held,
    } = await open({ calls: 1, queue: { for: '60s' } });
    const running = call(one, 'a-1');
    await expect.poll(() => held.length, { timeout: 60_000 }).toBe(1);
    const leaving = new AbortController();
    const body = JSON.stringify({ model: 'house/model', messages: [{ role: 'user', content: 'Hi' }] });
    const left = fetch(`${two.url}/v1/chat/completions`, {
      method: 'POST',
      body,
      headers: { 'x-key': 'b-1' },
      signal: leaving.signal,
    }).catch(() => 'left');
    await new Promise((resolve) => setTimeout(resolve, 300));
    leaving.abort();
    expect(await left).toBe('left');
    const waiting = call(two, 'b-2');
    await new Promise((resolve) => setTimeout(resolve, 300));
    const closed = two.close();
    held.shift()?.();
    await expect.poll(() => held.length, { timeout: 60_000 }).toBe(1);
    held.shift()?.();
    expect((await Promise.all([running, waiting])).map(({ status }) => status)).toEqual([200, 200]);
    await closed;
    expect(vendor.bodies).toHaveLength(2);
  });
});
