/** The translated lane over real sockets: a client of one protocol, a provider of another, both ways. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { checkModel, definePlugin } from '../../core/index.ts';
import { openHarness, type Harness } from '../support/harness.ts';
import { houseModel } from '../support/house-model.ts';
import { plain } from '../support/plain-protocol.ts';

const asked = z.object({ model: z.string(), prompt: z.string(), stream: z.boolean().optional() });

/** A provider that speaks the plain protocol and returns what it was asked. */
function createPlainVendor(): Server {
  return createServer(async (request, response) => {
    const { prompt, stream } = asked.parse(
      JSON.parse(Buffer.concat(await Array.fromAsync(request)).toString()),
    );
    response.setHeader('content-type', stream ? 'text/event-stream' : 'application/json');
    if (!stream)
      return void response.end(JSON.stringify({ model: 'm', text: `You said: ${prompt}`, in: 7, out: 5 }));
    for (const text of ['You said: ', prompt]) response.write(`data: ${JSON.stringify({ text })}\n\n`);
    response.end('data: {"done":true,"in":7,"out":5}\n\n');
  });
}

let harness: Harness;
let vendor: Server;
beforeAll(async () => {
  vendor = createPlainVendor().listen(0, '127.0.0.1');
  await once(vendor, 'listening');
  const address = vendor.address();
  const url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}/`;
  const plainProvider = definePlugin({
    name: 'plain-house',
    options: z.strictObject({}),
    apply(host) {
      const provider = {
        name: 'plain-house',
        endpoints: { plain: url },
        sign: <Request>(request: Request) => request,
      };
      host.providers.add(provider);
      host.catalog.offer(provider, [
        checkModel({ ...houseModel, id: 'plain/model', free: undefined, price: { input: '1', output: '2' } }),
      ]);
    },
  });
  harness = await openHarness({ plugins: [plain(), plainProvider()] });
});
afterAll(async () => {
  await harness.close();
  vendor.close();
});

describe('a chat-completions client', () => {
  const messages = [{ role: 'user' as const, content: 'Héllo' }];

  it('reaches a provider of another protocol, whole, and pays for it', async () => {
    const before = (await harness.balance()).used;
    const reply = await harness.client.chat.completions.create({ model: 'plain/model', messages });
    expect(reply).toMatchObject({
      model: 'plain/model',
      choices: [{ message: { role: 'assistant', content: 'You said: Héllo' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 },
    });
    expect(Math.round(((await harness.balance()).used - before) * 1e9)).toBe(7 * 1000 + 5 * 2000);
  });

  it('reaches it in a stream too', async () => {
    const reply = await harness.client.chat.completions
      .stream({ model: 'plain/model', messages })
      .finalChatCompletion();
    expect(reply).toMatchObject({
      model: 'plain/model',
      choices: [{ message: { content: 'You said: Héllo' }, finish_reason: 'stop' }],
    });
  });

  it('gets an error of its own protocol about a field the other cannot express', async () => {
    const response = await harness.post({
      model: 'plain/model',
      messages: [{ role: 'user', content: 'a', name: 'Ann' }],
      temperature: 0.5,
    });
    expect([response.status, response.headers.get('x-tollgate-dropped')]).toEqual([200, 'temperature']);
    const refused = await harness.post({
      model: 'plain/model',
      messages,
      temperature: 0.5,
      provider: { require_parameters: true },
    });
    expect([refused.status, await refused.json()]).toMatchObject([400, { error: { param: 'temperature' } }]);
  });
});

describe('a client of another protocol', () => {
  const call = (body: object): Promise<Response> =>
    fetch(`${harness.gateway.url}/plain`, {
      method: 'POST',
      headers: { authorization: `Bearer ${harness.key}` },
      body: JSON.stringify({ model: 'openai/gpt-4o-mini', prompt: 'Hello', ...body }),
    });

  it('reaches a chat-completions provider, which accepts what it receives', async () => {
    harness.vendor.script('gpt-4o-mini', {
      text: ['Good ', 'day.'],
      usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    });
    expect(await (await call({ limit: 50 })).json()).toEqual({
      model: 'openai/gpt-4o-mini',
      text: 'Good day.',
      in: 3,
      out: 2,
    });
    expect(JSON.parse(harness.vendor.requests.at(-1)?.body.toString() ?? '')).toMatchObject({
      model: 'gpt-4o-mini',
      max_completion_tokens: 50,
      messages: [{ role: 'user', content: 'Hello' }],
    });
  });

  it('reaches it in a stream too', async () => {
    harness.vendor.script('gpt-4o-mini', {
      text: ['Good ', 'day.'],
      usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    });
    const buildLine = (text: string): string => `data: {"model":"openai/gpt-4o-mini","text":"${text}"}\n\n`;
    expect(await (await call({ stream: true })).text()).toBe(
      `${buildLine('Good ')}${buildLine('day.')}data: {"done":true,"in":3,"out":2}\n\n`,
    );
  });

  it('never takes a cut stream for a complete one', async () => {
    harness.vendor.script('gpt-4o-mini', { text: ['Good ', 'day.'], cut: { how: 'end', events: 2 } });
    expect(await (await call({ stream: true })).text()).toMatch(
      /data: \{"plain_error":"upstream_failed"\}\n\n$/,
    );
  });
});
