/**
 * A call with an `Idempotency-Key` is made and charged once, however often a client sends it, in every
 * protocol, streaming or not.
 */
import { describe, expect, it } from 'vitest';
import {
  type ClientReply,
  before,
  countCalls,
  chat,
  families,
  harness,
  largest,
  leaveAfter,
  openOrders,
  order,
  send,
  upstream,
  readUsed,
} from './repeated-calls.ts';

openOrders();

type FamilyName = keyof typeof families;

const names = Object.keys(families).filter((name): name is FamilyName => name in families);

const everyWay = names.flatMap((name): [FamilyName, boolean][] => [
  [name, false],
  [name, true],
]);

describe.each(everyWay)('%s, stream: %s', (name, stream) => {
  const ask = families[name](stream);

  it('repeats the same bytes for the same call, without a provider and without a charge', async () => {
    const first = await send(ask);
    const cost = await readUsed();
    const again = await send(ask);
    expect([first.status, again.status]).toEqual([200, 200]);
    expect(again.text).toBe(first.text);
    expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'));
    expect([first.headers.get('idempotent-replayed'), again.headers.get('idempotent-replayed')]).toEqual([
      null,
      'true',
    ]);
    expect(again.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
    expect(again.headers.get('request-id')).toBe(again.headers.get('x-request-id'));
    expect(countCalls()).toBe(1);
    expect(cost).toBeGreaterThan(0);
    expect(await readUsed()).toBe(cost);
  });

  it('repeats the reply without the rate-limit headers of its time', async () => {
    const [first, again] = [await send(ask), await send(ask)];
    const listAllowances = ({ headers }: ClientReply): string[] =>
      [...headers.keys()].filter((header) => header.includes('ratelimit'));
    expect([listAllowances(first).length, listAllowances(again)]).toEqual([3, []]);
    expect(again.headers.get('x-tollgate-provider')).toBe('groq');
  });

  it('refuses another body under the same key, in its own format', async () => {
    await send(ask);
    const other = await send(families[name](stream, 'Something else'));
    expect(other.status).toBe(422);
    expect(other.headers.get('x-should-retry')).toBe('false');
    expect(JSON.parse(other.text)).toHaveProperty('error.message', expect.stringContaining('another body'));
    expect(countCalls()).toBe(1);
  });

  it('makes one call and one charge of 50 that arrive at once', async () => {
    const go = Promise.withResolvers<void>();
    harness.vendor.script(upstream, { hold: go.promise });
    const all = Promise.all(Array.from({ length: 50 }, () => send(ask)));
    await harness.gateway.ended(before.ends + 49);
    go.resolve();
    const replies = await all;
    const busy = replies.filter(({ status }) => status === 409);
    expect([replies.filter(({ status }) => status === 200).length, busy.length]).toEqual([1, 49]);
    for (const { headers } of busy)
      expect([headers.get('retry-after'), headers.get('x-should-retry')]).toEqual(['1', null]);
    expect(countCalls()).toBe(1);
    const cost = await readUsed();
    expect((await send(ask)).text).toBe(replies.find(({ status }) => status === 200)?.text);
    expect(await readUsed()).toBe(cost);
  });
});

describe.each(names)('%s, when the client disconnects after output', (name) => {
  it('repeats the part that was sent with an error, and charges nothing more', async () => {
    harness.vendor.script(upstream, { text: ['One', ' two', ' three'], hold: 'forever', holdAfter: 3 });
    const ask = families[name](true);
    const seen = await leaveAfter(ask, 'two');
    await expect.poll(readUsed).toBeGreaterThan(0);
    const cost = await readUsed();
    const again = await send(ask);
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
    expect(again.text.startsWith(seen)).toBe(true);
    expect(again.text.slice(seen.length)).toMatch(/error|failed/);
    expect(again.text).not.toMatch(/message_stop|response\.completed|"finishReason":"STOP"/);
    if (name === 'chat-completions') expect(again.text).not.toContain('[DONE]');
    expect(countCalls()).toBe(1);
    expect(await readUsed()).toBe(cost);
  });
});

it('a reply too long to store is not made again: a JSON retry gets an error', async () => {
  harness.vendor.script(upstream, { text: 'y'.repeat(largest) });
  await send(chat(false));
  const again = await send(chat(false));
  expect([again.status, again.headers.get('x-should-retry')]).toEqual([409, 'false']);
  expect(JSON.parse(again.text)).toHaveProperty('error.code', 'outcome_not_kept');
  expect(countCalls()).toBe(1);
});

it('a stream too long to store is not made again: a retry gets its start and an error', async () => {
  harness.vendor.script(upstream, { text: Array.from({ length: 1000 }, (_, index) => `word ${index} `) });
  const first = await send(chat(true));
  const again = await send(chat(true));
  const kept = again.text.slice(0, again.text.lastIndexOf('event: error'));
  expect(kept.length).toBeGreaterThan(largest / 2);
  expect(first.text.startsWith(kept)).toBe(true);
  expect(again.text.slice(kept.length)).toContain('outcome_not_kept');
  expect(again.text).not.toContain('[DONE]');
  expect(countCalls()).toBe(1);
});

it('a stream too long to store ends a retry of responses under its id, in sequence', async () => {
  harness.vendor.script(upstream, { text: Array.from({ length: 1000 }, (_, index) => `word ${index} `) });
  await send(families.responses(true));
  const { text } = await send(families.responses(true));
  const events = [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, data = '']) => JSON.parse(data));
  expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, index) => index));
  expect(events.at(-1)).toMatchObject({ type: 'response.failed', response: { id: events[0].response.id } });
});

const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

function edit(picture: Buffer<ArrayBuffer>, prompt = 'Make it night'): Promise<ClientReply> {
  const form = new FormData();
  for (const [name, value] of Object.entries({
    model: 'demo/paint',
    prompt,
    quality: 'low',
    size: '512x512',
  }))
    form.append(name, value);
  form.append('image', new Blob([picture], { type: 'image/png' }), 'picture.png');
  const headers = { authorization: `Bearer ${harness.key}`, 'idempotency-key': order };
  return fetch(`${harness.gateway.url}/v1/images/edits`, { method: 'POST', headers, body: form }).then(
    async ({ status, headers: replyHeaders, ...response }) => ({
      status,
      headers: replyHeaders,
      text: await new Response(response.body).text(),
    }),
  );
}

it('a form is the same call if and only if its decoded parts are equal, whatever the boundary', async () => {
  const picture = Buffer.from(pixel, 'base64');
  const first = await edit(picture);
  expect(first.status, first.text).toBe(200);
  const again = await edit(picture);
  expect([again.status, again.headers.get('idempotent-replayed'), again.text === first.text]).toEqual([
    200,
    'true',
    true,
  ]);
  expect((await edit(Buffer.concat([picture, Buffer.from('.')]))).status).toBe(422);
  expect((await edit(picture, 'Make it day')).status).toBe(422);
});
