import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { mistral } from '../../plugins/providers/mistral.ts';
import { chunk } from '../support/chat-stream.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { isObject } from '../support/json.ts';
import { startScriptedVendor, type ScriptedVendor } from '../support/scripted-vendor.ts';
import { small } from './strict.ts';

describe('a stream from Mistral', () => {
  const known = new Set([
    'model',
    'messages',
    'stream',
    'max_tokens',
    'random_seed',
    'temperature',
    'tools',
    'tool_choice',
  ]);
  const thinking = chunk({ role: 'assistant', content: 'Hm.' });
  const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
  let vendor: ScriptedVendor;
  let gateway: TestGateway;
  let calls = 0;

  beforeAll(async () => {
    vendor = await startScriptedVendor((response, _, body) => {
      const strange = Object.keys(JSON.parse(body)).find((field) => !known.has(field));
      if (strange !== undefined)
        return void response.writeHead(422).end(
          JSON.stringify({
            detail: [
              { type: 'extra_forbidden', loc: ['body', strange], msg: 'Extra inputs are not permitted' },
            ],
          }),
        );
      response
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .end(`${thinking}${chunk({ content: '' }, 'stop', { usage })}data: [DONE]\n\n`);
    });
    gateway = await startGateway({
      plugins: [
        bearer(),
        chatCompletions(),
        messages(),
        mistral({ apiKey: 'k', baseUrl: `${vendor.origin}/v1` }),
        balance({ firstCredit: '0' }),
      ],
    });
  });
  afterAll(async () => {
    await gateway.close();
    await vendor.close();
  });

  it.each([
    ['/v1/chat/completions', { stream_options: { include_usage: true } }],
    ['/v1/chat/completions', { seed: 7 }],
    ['/alpha/v1/messages', { max_tokens: 9 }],
  ])(
    'reaches a client of %s with %j, and is charged by the usage that Mistral sends unasked',
    async (path, fields) => {
      const made: unknown = await gateway.verb('keys create', [], { account: 'ann', credit: '5' });
      const key = isObject(made) ? String(made.key) : '';
      const response = await fetch(gateway.url + path, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          'anthropic-version': '2023-06-01',
        },
        body: JSON.stringify({
          model: small.id,
          messages: [{ role: 'user', content: 'Ahoy' }],
          stream: true,
          ...fields,
        }),
      });
      expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('Hm.')]);
      expect((await gateway.ended(++calls)).at(-1)).toMatchObject({
        charge: { basis: 'usage', usage: { output: 4 } },
      });
    },
  );
});
