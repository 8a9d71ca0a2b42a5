/**
 * Calls that a plugin posts for a client: their events are handed over in order, at the pace of what takes
 * them, and they are charged like the client's own.
 */
import { expect, it } from 'vitest';
import { z } from 'zod';
import { definePlugin, type PostedCall, type PostedReply } from '../../core/index.ts';
import { openHarness } from '../support/harness.ts';

const body = { model: 'openai/gpt-4o-mini', stream: true, messages: [{ role: 'user', content: 'Hello!' }] };
const own = { ...body, stream: false, user: 'poster' };

/** Posts a call for a client whose own call is answered by a plugin. */
async function post(posted: Partial<PostedCall>) {
  const replies: PostedReply[] = [];
  const poster = definePlugin({
    name: 'poster',
    options: z.strictObject({}),
    apply: (host) =>
      host.hooks.replay.tapPromise('poster', async (parsed) => {
        if (!parsed.text.includes('poster')) return undefined;
        const signal = new AbortController().signal;
        const taken = { body: JSON.stringify(body), signal, take: () => undefined, ...posted };
        replies.push(await host.postCall(parsed, taken));
        return { status: 200, headers: { 'content-type': 'application/json' }, body: Buffer.from('{}') };
      }),
  });
  const harness = await openHarness({ plugins: [poster()] });
  harness.vendor.script('*', { text: ['one', 'two', 'three'] });
  expect((await harness.post(own)).status).toBe(200);
  const [reply] = replies;
  if (!reply) throw new Error('nothing was posted');
  return { reply, ...harness };
}

it('the events of a posted call are handed over in order, and it is charged', async () => {
  const texts: string[] = [];
  const { reply, gateway } = await post({
    take(data) {
      texts.push(/"content":"(\w+)"/.exec(data)?.[1] ?? '');
      return undefined;
    },
  });
  expect(await reply.end).toMatchObject({ status: 200, headers: { 'x-request-id': reply.id }, text: '' });
  expect(texts.filter((text) => text !== '')).toEqual(['one', 'two', 'three']);
  const ends = await gateway.ended(2);
  const posted = ends.find(({ exchange }) => exchange.id === reply.id);
  expect(posted?.type === 'answered' && posted.charge.cost > 0n).toBe(true);
});

it('a posted call waits for what takes its events', async () => {
  const reading = Promise.withResolvers<void>();
  let taken = 0;
  const { reply } = await post({
    take() {
      taken += 1;
      return reading.promise;
    },
  });
  await expect.poll(() => taken).toBeGreaterThan(0);
  await new Promise((resolve) => setTimeout(resolve, 200));
  const before = taken;
  reading.resolve();
  await reply.end;
  expect(taken).toBeGreaterThan(before);
});

it('a posted call that is refused ends with the status and the error', async () => {
  const { reply } = await post({ body: JSON.stringify({ ...body, model: 'openai/none' }) });
  const { status, text } = await reply.end;
  expect([status, JSON.parse(text)]).toMatchObject([404, { error: { code: 'model_not_found' } }]);
});

it('a call that is posted for a client that is gone calls no provider', async () => {
  const { reply, vendor, gateway } = await post({ signal: AbortSignal.abort() });
  await reply.end;
  await gateway.ended(2);
  expect(vendor.requests).toHaveLength(0);
});
