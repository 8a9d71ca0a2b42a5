/** A Claude client that offers a search reads another vendor's in blocks, as Claude Code needs them. */
import { beforeAll, expect, it } from 'vitest';
import { getModel, openFourWires, wires, type FourWires } from '../support/four-wires.ts';

let harness: FourWires;
beforeAll(async () => {
  harness = await openFourWires();
});

const user = { role: 'user', content: 'What is new?' };
const search = { type: 'web_search_20250305', name: 'web_search' };
const page = { url: 'https://a.example/tides', title: 'Tides' };
const others = wires.filter((wire) => wire !== 'messages');

it.each(others)(
  'the pages that a model of %s cites come in a result, whole and as a stream',
  async (wire) => {
    const { id, upstream } = getModel(wire, 'searching');
    harness.vendors[wire].script(upstream, { text: 'High.', search: 'tides', citations: [page] });
    const body = { max_tokens: 90, messages: [user], tools: [search] };
    const { text } = await harness.ask('messages', id, body);
    expect(JSON.parse(text)).toMatchObject({
      content: [
        { type: 'server_tool_use', name: 'web_search' },
        { type: 'web_search_tool_result', content: [{ type: 'web_search_result', ...page }] },
        { type: 'text', citations: [{ url: page.url }] },
      ],
    });
    const stream = await harness.ask('messages', id, { ...body, stream: true });
    expect(stream.text).toMatch(/"index":2,"content_block":\{"type":"web_search_tool_result".*tides/);
    const plain = await harness.ask('messages', id, { max_tokens: 90, messages: [user] });
    expect(plain.text).not.toContain('srvtoolu_');
  },
);

it('they do not go to Claude, which did not seal them', async () => {
  const search = { type: 'server_tool_use', id: 'srvtoolu_crossed_1', name: 'web_search', input: {} };
  const found = { type: 'web_search_result', ...page, encrypted_content: '', page_age: null };
  const cited = { type: 'web_search_result_location', ...page, cited_text: 'High.', encrypted_index: '' };
  const answer = [
    search,
    { type: 'web_search_tool_result', tool_use_id: search.id, content: [found] },
    { type: 'text', text: 'High.', citations: [cited] },
  ];
  const messages = [user, { role: 'assistant', content: answer }, user];
  const { id } = getModel('messages', 'searching');
  const { status, headers, sent } = await harness.ask('messages', id, { max_tokens: 90, messages });
  expect([status, headers.get('x-tollgate-dropped')]).toEqual([200, null]);
  expect(sent).toMatchObject({ messages: [user, { content: [{ type: 'text', text: 'High.' }] }, user] });
  expect(JSON.stringify(sent)).not.toContain('tides');
});
