/** Changes to a request on its own protocol, made in the JSON that the client wrote. */
import { expect, it } from 'vitest';
import type { Block, CanonicalRequest, Turn } from '../../core/index.ts';
import { restoreRequest } from '../../core/index.ts';
import { families, readCall, sendOwn } from '../support/families.ts';
import { assistant, system, text, user } from '../support/turns.ts';

type Change = (request: CanonicalRequest) => CanonicalRequest;

const odd = { type: 'text', text: 'Ahoy', cache_control: { type: 'ephemeral', beta: 1 }, extra: null };
const messages = [
  { role: 'user', content: [odd, { type: 'text', text: 'Ann asks.' }] },
  { role: 'assistant', content: 'Well.', note: true },
  {
    role: 'user',
    content: [
      { type: 'tool_result', tool_use_id: 't', content: 'Ann left.', is_error: false },
      { type: 'beta_block', value: 1 },
    ],
  },
];
const body = { model: 'a/b', max_tokens: 90, stream: false, system: 'Be brief.', metadata: {}, messages };

const mapTurns =
  (change: (turn: Turn, index: number) => Turn | readonly Turn[]): Change =>
  (request) => ({ ...request, turns: request.turns.flatMap(change) });
const mapBlocks = (change: (block: Block) => Block | readonly Block[]): Change =>
  mapTurns((turn) => ({ ...turn, blocks: turn.blocks.flatMap(change) }));

/** The body after a change of the request, as far as it differs from what the client wrote. */
function send(change: Change, written: Record<string, unknown> = body): Record<string, unknown> {
  const { body: sent } = sendOwn('messages', written, { change });
  return Object.fromEntries(
    Object.entries(sent).filter(
      ([name, value]) => name !== 'model' && JSON.stringify(value) !== JSON.stringify(written[name]),
    ),
  );
}

it('a request that a plugin copies by way of JSON is sent as the client wrote it', () => {
  expect(send((request) => JSON.parse(JSON.stringify(request)))).toEqual({});
});

it('a request that a plugin changes keeps the form of a new text and the fields beside it', () => {
  const redact = mapBlocks((block) => {
    if (block.type === 'text')
      return { ...block, text: block.text.replace('Ahoy', '***').replace('Well', 'Ill') };
    if (block.type !== 'tool-result') return block;
    return { ...block, content: [text('Somebody left.', { at: 'messages[2].content[0].content' })] };
  });
  const [first, second, third] = messages;
  expect(send(redact)).toEqual({
    messages: [
      {
        ...first,
        content: [
          { ...odd, text: '***' },
          { type: 'text', text: 'Ann asks.' },
        ],
      },
      { ...second, content: 'Ill.' },
      {
        ...third,
        content: [{ ...Object(third?.content[0]), content: 'Somebody left.' }, Object(third?.content[1])],
      },
    ],
  });
});

it('a request that a plugin changes lacks a removed block and a removed turn, and nothing else', () => {
  const [first, ...others] = messages;
  const removeFirst = mapBlocks((block) => (block.at === 'messages[0].content[1]' ? [] : block));
  expect(send(removeFirst)).toEqual({ messages: [{ ...first, content: [odd] }, ...others] });
  expect(send(mapTurns((turn) => (turn.at === 'messages[0]' ? [] : turn)))).toEqual({ messages: others });
  expect(send(mapTurns((turn) => (turn.at === 'system' ? [] : turn)))).not.toHaveProperty('messages');
});

it('a request that a plugin changes has added turns and instructions in their place', () => {
  const added = mapTurns((turn) =>
    turn.at === 'system'
      ? [turn, system('Be kind.')]
      : turn.at === 'messages[1]'
        ? [turn, user('Why?'), assistant('So.')]
        : turn,
  );
  expect(send(added)).toEqual({
    system: [
      { type: 'text', text: 'Be brief.' },
      { type: 'text', text: 'Be kind.' },
    ],
    messages: [
      ...messages.slice(0, 2),
      { role: 'user', content: [{ type: 'text', text: 'Why?' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'So.' }] },
      ...messages.slice(2),
    ],
  });
});

it('a request that a plugin changes has a block that was added to a turn', () => {
  const add = mapTurns((turn) =>
    turn.at === 'messages[1]' ? { ...turn, blocks: [...turn.blocks, text('More.')] } : turn,
  );
  expect(send(add)).toMatchObject({
    messages: [
      messages[0],
      { role: 'assistant', note: true, content: [{ text: 'Well.' }, { text: 'More.' }] },
      messages[2],
    ],
  });
});

it('a request that a plugin changes has changed settings, in the place of the old ones', () => {
  const tools = [
    { name: 'look', input_schema: { type: 'object' }, beta: true },
    { name: 'go', input_schema: { type: 'object' } },
  ];
  const change: Change = (request) => ({
    ...request,
    temperature: 0.5,
    stop: undefined,
    tools: request.tools?.slice(1),
  });
  const written = { ...body, temperature: 1, stop_sequences: ['END'], top_p: null, tools };
  expect(send(change, written)).toEqual({ temperature: 0.5, tools: tools.slice(1) });
  expect(sendOwn('messages', written, { change }).body).not.toHaveProperty('stop_sequences');
});

it('a request that a plugin changes says a setting once, if under another name too', () => {
  const schema = { type: 'object', properties: {}, additionalProperties: false };
  const written = { ...body, output_format: { type: 'json_schema', schema } };
  const change: Change = (request) => ({
    ...request,
    format: { type: 'schema', schema: { ...schema, title: 'T' } },
  });
  const { body: sent } = sendOwn('messages', written, { change });
  expect(sent).not.toHaveProperty('output_format');
  expect(sent).toMatchObject({ output_config: { format: { schema: { title: 'T' } } }, messages });
});

it('a request that a plugin changes keeps its order, and numbers that no double holds', () => {
  const { protocol, model } = families.messages;
  const json =
    '{"metadata":{"id":12345678901234567890,"share":1.0},"model":"a/b","max_tokens":90,"messages":[]}';
  const written = json.replace('[]', '[{"role":"user","content":"Ann"},{"role":"user","content":"Ahoy"}]');
  const call = readCall('messages', JSON.parse(written));
  const before = call.decode();
  const after = mapTurns((turn) => (turn.at === 'messages[1]' ? { ...turn, blocks: [text('Oh')] } : turn))(
    before,
  );
  const { parts } = protocol.upstream;
  if (!parts) throw new Error('no parts');
  const options = { call, text: written, before, after, model, provider: 'vendor', outputLimit: undefined };
  expect(restoreRequest(protocol.upstream, parts, options).body).toBe(
    written.replace('a/b', model.upstream).replace('"Ahoy"', '[{"type":"text","text":"Oh"}]'),
  );
});

it('a request without one of its turns has the others in the spelling of the client', () => {
  const image = { mimeType: 'image/png', data: 'iVBORw0KGgo=' };
  const contents = [
    { role: 'user', parts: [{ inlineData: image }] },
    { role: 'model', parts: { text: 'A gull.' } },
    { role: 'user', parts: [{ inline_data: { mime_type: 'image/png', data: 'iVBORw0KGgo=' } }] },
    { role: 'user', parts: [{ inlineData: image }] },
  ];
  const written = { contents, system_instruction: { parts: { text: 'Be brief.' } } };
  const dropped = mapTurns((turn) => (turn.at === 'contents[0]' ? [] : turn));
  expect(sendOwn('generate-content', written, { change: dropped }).body).toEqual({
    ...written,
    contents: contents.slice(1),
  });
});

it('a request that a plugin changes to what cannot be sent is refused by the field', () => {
  const show = mapBlocks((block) =>
    block.at === 'messages[0].content[1]'
      ? {
          type: 'media',
          kind: 'video',
          source: { type: 'url', url: 'https://a.example/a.mp4' },
          at: block.at,
        }
      : block,
  );
  expect(() => send(show)).toThrow(expect.objectContaining({ details: { param: 'messages[0].content[1]' } }));
});
