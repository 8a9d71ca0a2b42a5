/** A long part of a stream that arrives at once passes the gateway in pieces, and others run in between. */
import { beforeAll, expect, it } from 'vitest';
import { definePlugin } from '../../core/index.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { chunk, ending } from '../support/chat-stream.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { postJson } from '../support/post.ts';
import { startScriptedVendor, type ScriptedVendor } from '../support/scripted-vendor.ts';
import { acceptAnyKey, testProvider } from '../support/test-provider.ts';

const events = 400;
const usage = { prompt_tokens: 3, completion_tokens: events, total_tokens: events + 3 };
const body =
  chunk({ role: 'assistant', content: 'word ' }).repeat(events) + chunk({}, 'stop') + ending(usage);

/** The turns of the event loop in which events passed. */
const turns = new Set<number>();
let turn = 0;
let vendor: ScriptedVendor;
let gateway: TestGateway;
beforeAll(async () => {
  vendor = await startScriptedVendor((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(body);
  });
  const watch = definePlugin({
    name: 'watch',
    apply: ({ hooks }) =>
      hooks.transformStream.tap({ name: 'watch', when: () => true }, async function* note(pieces) {
        for await (const piece of pieces) {
          turns.add(turn);
          yield piece;
        }
      }),
  });
  gateway = await startGateway({
    plugins: [
      acceptAnyKey(),
      chatCompletions(),
      watch(),
      testProvider({
        name: 'house',
        endpoints: { 'chat-completions': `${vendor.origin}/v1/chat/completions` },
        models: [{ free: true }],
      }),
    ],
  });
});

it('other calls run between the pieces of a stream that arrived at once', async () => {
  let ended = false;
  const count = (): void => {
    turn += 1;
    if (!ended) setImmediate(count);
  };
  count();
  const request = { model: 'house/model', stream: true, messages: [{ role: 'user', content: 'Go on.' }] };
  const response = await postJson(`${gateway.url}/v1/chat/completions`, request);
  const text = await response.text();
  ended = true;
  expect(text.split('word ')).toHaveLength(events + 1);
  // Of at most 8 KiB each; those that arrive together may be fewer.
  expect(turns.size).toBeGreaterThan(body.length / 8192 / 2);
});
