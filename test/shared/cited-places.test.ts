/** Where a citation stands in an answer of several texts: some wires count from each, some from the first. */
import { expect, it } from 'vitest';
import type { CanonicalEvent } from '../../core/index.ts';
import { families, readCall, wires, type Wire } from '../support/families.ts';
import { generateReply, responsesReply, textItem } from '../support/replies.ts';

const requests: Readonly<Record<Wire, object>> = {
  'chat-completions': { model: 'a/b', messages: [{ role: 'user', content: 'Weather?' }] },
  responses: { model: 'a/b', input: 'Weather?' },
  messages: { model: 'a/b', max_tokens: 20, messages: [{ role: 'user', content: 'Weather?' }] },
  'generate-content': { contents: [{ role: 'user', parts: [{ text: 'Weather?' }] }] },
};
const [first, second] = ['Let me look. ', 'It is 🌧 now.'];
const page = { url: 'https://house.example/', title: 'House' };
const search = { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search' } };
const cited = {
  ...textItem(second),
  id: 'msg_2',
  content: [
    {
      type: 'output_text',
      text: second,
      annotations: [{ type: 'url_citation', ...page, start_index: 6, end_index: 8 }],
    },
  ],
};
const parts = [{ text: first }, { executableCode: { language: 'PYTHON', code: '1' } }, { text: second }];
const groundingMetadata = {
  groundingChunks: [{ web: { uri: page.url, title: page.title } }],
  groundingSupports: [
    { segment: { partIndex: 2, startIndex: 6, endIndex: 10, text: '🌧' }, groundingChunkIndices: [0] },
  ],
};
const replies: Readonly<Partial<Record<Wire, object>>> = {
  responses: responsesReply('', { output: [textItem(first), search, cited] }),
  'generate-content': generateReply('', {
    candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0, groundingMetadata }],
  }),
};

const places: Readonly<Record<Wire, object>> = {
  'chat-completions': { start_index: first.length + 6, end_index: first.length + 8 },
  responses: { start_index: 6, end_index: 8 },
  messages: { cited_text: '🌧' },
  'generate-content': { startIndex: first.length + 6, endIndex: first.length + 10 },
};

function showEachWay(client: Wire, events: readonly CanonicalEvent[]): string[] {
  const side = families[client].protocol.client;
  const context = { id: 'k1', model: 'a/b', created: 1, call: readCall(client, requests[client]) };
  const encoder = side.encodeEvents(context);
  const streamed = events.map((event) => encoder.push(event)).join('');
  return [JSON.stringify(side.encodeReply(events, context)), streamed];
}

it.each(
  (['responses', 'generate-content'] as const).flatMap((vendor) =>
    wires.filter((client) => client !== vendor).map((client) => [vendor, client] as const),
  ),
)('a citation of %s stands at its passage for a client of %s', (vendor, client) => {
  const { upstream } = families[vendor].protocol;
  const events = upstream.decodeReply(replies[vendor], readCall(vendor, requests[vendor]));
  const place = JSON.stringify(places[client]).slice(1, -1);
  for (const shown of showEachWay(client, events)) expect(shown).toContain(place);
});
