/** How a request with references becomes a whole one, as text. */
import { expect, it } from 'vitest';
import { parseJson } from '../../core/index.ts';
import {
  createExpander,
  findExpansion,
  listInput,
  listOutput,
} from '../../plugins/protocols/responses/expansion.ts';
import type { Found, Stored } from '../../plugins/protocols/responses/stored.ts';

const found: Found = {
  state: 'completed',
  beat: undefined,
  reply: '{}',
  readRequest: async () => '{"input" : [ {"role":"user","content":"one","weight":1.0} ], "instructions":"x"}',
};
const output = { id: 'msg_1', text: '{"id":"msg_1","count":12345678901234567890}' };
const stored: Pick<Stored, 'find' | 'listItems' | 'findItems'> = {
  find: async (account, id) => (account === 'ada' && id === 'resp_1' ? found : undefined),
  listItems: async () => [output],
  findItems: async () => new Map([['msg_1', output.text]]),
};
// What it is asked for is all that the expander uses.
const expand = createExpander(
  () => stored as Stored,
  () => undefined,
);
const place = { account: 'ada', match: { operation: 'generate' } } as const;

it('what was kept is sent as it was written, to the last digit, before what is new', async () => {
  const text = '{"model":"a/b","previous_response_id":"resp_1", "input":"two \\u00e9","seed":1.50}';
  const whole = await expand(parseJson(Buffer.from(text)), place);
  expect(whole?.text).toBe(
    '{"model":"a/b","previous_response_id":"resp_1", "input":[{"role":"user","content":"one","weight":1.0},' +
      `${output.text},{"type":"message","role":"user","content":"two \\u00e9"}],"seed":1.50}`,
  );
  expect(whole?.bytes.toString()).toBe(whole?.text);
  expect([whole?.ownText, findExpansion(whole?.value)]).toEqual([text, { previous: 'resp_1', context: 2 }]);
});

it('a reference in the input becomes the item itself, in its place', async () => {
  const text =
    '{"input":[{"role":"user","content":"a"},{"type":"item_reference","id":"msg_1"},{"id":"msg_1"}]}';
  const whole = await expand(parseJson(Buffer.from(text)), place);
  expect(whole?.text).toBe(`{"input":[{"role":"user","content":"a"},${output.text},${output.text}]}`);
});

it('a request that refers to nothing stays the same object', () => {
  for (const text of ['{"input":"a"}', '{"input":[{"role":"user","content":"a","id":"msg_1"}]}', '{}'])
    expect(expand(parseJson(Buffer.from(text)), place)).toBeUndefined();
});

it('a request without input of its own continues from the earlier response', async () => {
  const whole = await expand(parseJson(Buffer.from('{"previous_response_id":"resp_1"}')), place);
  expect(whole?.text).toContain(`"input":[{"role":"user","content":"one","weight":1.0},${output.text}]`);
});

it('so many references that the whole is too long are refused before they are joined', async () => {
  const large = `"${'x'.repeat(1024 * 1024)}"`;
  const many = createExpander(
    () => ({ ...stored, findItems: async () => new Map([['msg_1', large]]) }) as unknown as Stored,
    () => undefined,
  );
  const input = Array.from({ length: 40 }, () => ({ id: 'msg_1' }));
  const refused = many(parseJson(Buffer.from(JSON.stringify({ input }))), place);
  await expect(refused).rejects.toMatchObject({ code: 'body_too_large' });
});

it('items of inputs and outputs are split as they are written', () => {
  expect(listInput('"a"')).toEqual(['{"type":"message","role":"user","content":"a"}']);
  expect(listInput('[ {"a":[1,2]} , "]," ]')).toEqual(['{"a":[1,2]}', '"],"']);
  expect([listInput('[]'), listInput(undefined), listInput('null')]).toEqual([[], [], []]);
  expect(listOutput('{"output":[{"id":"a b"},{"id":"msg_1"}]}')).toEqual([
    { id: '', text: '{"id":"a b"}' },
    { id: 'msg_1', text: '{"id":"msg_1"}' },
  ]);
});
