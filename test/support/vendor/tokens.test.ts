/** What the vendor says of tokens, by which other tests reckon. */
import { beforeAll, expect, it } from 'vitest';
import { createChatCaller, question, readData, type Caller } from './call.ts';
import { startVendor, type Vendor } from './chat-completions.ts';

let vendor: Vendor;
let ask: Caller;
beforeAll(async () => {
  vendor = await startVendor();
  ask = createChatCaller(vendor);
});

it('the vendor counts by its rule in a JSON reply', async () => {
  vendor.script('gpt-4o-mini', { text: 'Four score, and seven.' });
  const { text } = await ask(question);
  // Three for the message, two for `Hello!`; four words and two signs.
  expect(JSON.parse(text).usage).toMatchObject({
    prompt_tokens: 5,
    completion_tokens: 6,
    total_tokens: 11,
  });
  expect(vendor.journal.at(-1)).toMatchObject({
    billed: { prompt: 5, completion: 6 },
    end: 'complete',
    model: 'gpt-4o-mini',
  });
});

it('the vendor counts by its rule in a stream, which reports usage only on request', async () => {
  const asked = await ask({ ...question, stream: true, stream_options: { include_usage: true } });
  const chunks = readData(asked.text)
    .slice(0, -1)
    .map((data) => JSON.parse(data));
  expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 6 } });
  expect(chunks.slice(0, -1).every(({ usage }) => usage === null)).toBe(true);
  expect(readData(asked.text).at(-1)).toBe('[DONE]');
  const unasked = await ask({ ...question, stream: true });
  expect(unasked.text).not.toContain('"usage"');
});

it('the vendor counts by its rule keeps to the output limit and says that it was reached', async () => {
  const { text } = await ask({ ...question, max_tokens: 3 });
  expect(JSON.parse(text)).toMatchObject({
    choices: [{ message: { content: 'Four score,' }, finish_reason: 'length' }],
    usage: { completion_tokens: 3 },
  });
});
