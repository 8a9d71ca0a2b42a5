/** Pictures that a provider only links to: no protocol with a place for the link shows an empty picture. */
import { expect, it } from 'vitest';
import type { ClientCall, Protocol } from '../../core/index.ts';
import { families, readCall } from '../support/families.ts';
import { chatReply } from '../support/replies.ts';
import { protocol as images, readJson } from './bodies.ts';

const url = 'https://house.example/a.png';
const body = { model: 'a/b', messages: [{ role: 'user', content: 'Hello' }] };
const message = { role: 'assistant', content: 'Here.', images: [{ image_url: { url } }] };

function show({ client }: Protocol, call: ClientCall): string {
  const { upstream } = families['chat-completions'].protocol;
  const reply = chatReply('', { choices: [{ index: 0, message, finish_reason: 'stop' }] });
  const events = upstream.decodeReply(reply, call);
  const context = { id: 'k1', model: 'a/b', created: 1, call };
  const encoder = client.encodeEvents(context);
  const streamed = events.map((event) => encoder.push(event)).join('');
  return JSON.stringify(client.encodeReply(events, context)) + streamed;
}

it.each<[string, Protocol, ClientCall, RegExp]>([
  ['images', images, readJson({}), /"url":"https:\/\/house\.example\/a\.png"/g],
  [
    'chat-completions',
    families['chat-completions'].protocol,
    readCall('chat-completions', body),
    /"image_url":\{"url":"https:\/\/house\.example\/a\.png"\}/g,
  ],
  [
    'generate-content',
    families['generate-content'].protocol,
    readCall('generate-content', { contents: [{ parts: [{ text: 'Hello' }] }] }),
    /"fileData":\{"fileUri":"https:\/\/house\.example\/a\.png"\}/g,
  ],
])('a client of %s gets the link, streamed or not', (_, protocol, call, link) => {
  const shown = show(protocol, call);
  expect(shown.match(link)).toHaveLength(2);
  expect(shown).not.toMatch(/"(b64_json|data)":""/);
});
