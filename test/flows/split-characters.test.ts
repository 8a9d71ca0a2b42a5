/**
 * A provider that cuts its deltas between the halves of an emoji: clients of every protocol get whole
 * characters, in text, reasoning and arguments of tools.
 */
import { beforeAll, expect, it } from 'vitest';
import { wires } from '../support/families.ts';
import { openOneReply, type OneReply } from '../support/one-reply.ts';

const face = '\u{1f600}';
const [first = '', second = ''] = face.split('');

const call = (args: string, more: object = {}): object => ({
  tool_calls: [{ index: 0, ...more, function: { arguments: args } }],
});
const deltas = [
  { role: 'assistant', reasoning_content: `thought ${first}` },
  { reasoning_content: `${second} one` },
  { content: first },
  { content: `${second} two ${first}` },
  { content: second },
  { content: 'escaped \\ud83d' },
  { tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'find', arguments: '' } }] },
  call(`{"what":"three ${first}`),
  call(`${second}"}`),
];
const head = { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm' };
const stream = [
  ...deltas.map((delta) => ({ ...head, choices: [{ index: 0, delta, finish_reason: null }] })),
  { ...head, choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
  '[DONE]',
];

/** What makes a client be shown reasoning. */
const thinking = { type: 'enabled', budget_tokens: 1024 };
const settings = {
  'chat-completions': {},
  responses: { reasoning: { effort: 'low', summary: 'auto' } },
  messages: { max_tokens: 3000, thinking },
  'generate-content': { generationConfig: { thinkingConfig: { includeThoughts: true } } },
} as const;

function listTexts(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(listTexts) : [];
}

let harness: OneReply;
beforeAll(async () => {
  harness = await openOneReply('chat-completions');
});

it.each(wires)('a reply cut within characters reaches clients of %s in whole ones', async (client) => {
  const { status, text } = await harness.ask(client, stream, { fields: settings[client] });
  expect(status, text).toBe(200);
  const frames = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json = '']): unknown => JSON.parse(json));
  const texts = frames.flatMap(listTexts);
  expect(texts.filter((each) => !each.isWellFormed() || each.includes('\ufffd'))).toEqual([]);
  const all = texts.join('');
  for (const words of ['thought ', ' one', ' two ', 'escaped \\ud83d', 'three '])
    expect(all).toContain(words);
  expect(all.split(face).length).toBeGreaterThan(4);
});
