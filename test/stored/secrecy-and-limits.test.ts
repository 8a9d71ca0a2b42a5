/** What is kept of responses: who finds it, how long it stays, and what of it can be read. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import OpenAI, { BadRequestError, NotFoundError } from 'openai';
import { beforeAll, expect, it } from 'vitest';
import { metrics } from '../../core/host/metrics.ts';
import { getModel, openFourWires, type FourWires } from '../support/four-wires.ts';

let harness: FourWires;
let openai: OpenAI;
let stranger: OpenAI;
beforeAll(async () => {
  harness = await openFourWires({ store: { for: '1h' } });
  const baseURL = `${harness.gateway.url}/v1`;
  openai = new OpenAI({ apiKey: harness.key, baseURL, maxRetries: 0 });
  const other = await harness.gateway.newKey({ account: 'stranger', credit: '5' });
  stranger = new OpenAI({ apiKey: other, baseURL, maxRetries: 0 });
});

const { id: model, upstream } = getModel('responses', 'thinking');

function say(...texts: string[]): void {
  const [first = '', ...others] = texts;
  harness.vendors.responses.script(
    upstream,
    { reasoning: ['I think.'], text: [first] },
    ...others.map((text) => ({ text: [text] })),
  );
}

async function expectMissing(request: Promise<unknown>): Promise<void> {
  const error: unknown = await request.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(NotFoundError);
  expect(error).toMatchObject({ code: 'not_found', type: 'invalid_request_error' });
}

it('a response is read again as it was, whether it was streamed or not', async () => {
  say('Calm.');
  const created = await openai.responses.create({ model, input: 'The sea?', metadata: { ship: 'Anna' } });
  const { output_text: _text, ...plain } = created;
  expect(await openai.responses.retrieve(created.id)).toMatchObject({ ...plain, store: true });
  const streamed = await openai.responses.stream({ model, input: 'The sea?' }).finalResponse();
  const again = await openai.responses.retrieve(streamed.id);
  expect(again.output).toEqual(
    streamed.output.map(({ ...item }) => expect.objectContaining({ id: item.id })),
  );
  expect(again.output_text).toBe(streamed.output_text);
});

it('the input of a response is listed by pages, the newest item first', async () => {
  say('Calm.');
  const input = ['one', 'two', 'three'].map((content) => ({ role: 'user' as const, content }));
  const { id } = await openai.responses.create({ model, input });
  const items = [];
  for await (const item of openai.responses.inputItems.list(id, { limit: 2 })) items.push(item);
  expect(items).toMatchObject(
    ['three', 'two', 'one'].map((text) => ({
      type: 'message',
      role: 'user',
      content: [{ type: 'input_text', text }],
    })),
  );
  const [first] = items.toReversed();
  const page = await openai.responses.inputItems.list(id, { order: 'asc', after: first?.id ?? '', limit: 1 });
  expect(page.data).toMatchObject([{ content: [{ text: 'two' }] }]);
  expect(page.has_more).toBe(true);
  await expect(openai.responses.inputItems.list(id, { limit: 101 })).rejects.toThrow(BadRequestError);
});

it('instructions are not inherited, and the earlier response is echoed', async () => {
  say('Aye.', 'Aye aye.');
  const first = await openai.responses.create({ model, input: 'Ahoy', instructions: 'Speak like a pirate.' });
  const next = await openai.responses.create({ model, input: 'Again', previous_response_id: first.id });
  expect(next.previous_response_id).toBe(first.id);
  expect(harness.vendors.responses.requests.at(-1)?.body.toString()).not.toContain('pirate');
  expect((await openai.responses.retrieve(next.id)).previous_response_id).toBe(first.id);
});

it('a deleted response is gone, and so is what referred to it', async () => {
  say('Calm.');
  const { id, output } = await openai.responses.create({ model, input: 'The sea?' });
  await openai.responses.delete(id);
  await expectMissing(openai.responses.retrieve(id));
  await expectMissing(openai.responses.delete(id));
  const [item] = output;
  const reference = { type: 'item_reference' as const, id: item?.id ?? '' };
  const refused = openai.responses.create({ model, input: [reference, { role: 'user', content: 'And?' }] });
  await expect(refused).rejects.toMatchObject({ status: 400, param: 'input[0].id' });
});

it('another account finds nothing', async () => {
  say('Calm.');
  const { id, output } = await openai.responses.create({ model, input: 'The sea?' });
  await expectMissing(stranger.responses.retrieve(id));
  await expectMissing(stranger.responses.delete(id));
  await expectMissing(stranger.responses.inputItems.list(id));
  for (const reference of [
    { previous_response_id: id, input: 'And?' },
    { input: output.map((item) => ({ type: 'item_reference' as const, id: item.id ?? '' })) },
  ])
    await expect(stranger.responses.create({ model, ...reference })).rejects.toMatchObject({
      status: 400,
      code: 'previous_response_not_found',
    });
  expect((await openai.responses.retrieve(id)).id).toBe(id);
});

it('nothing is kept of a response with "store": false', async () => {
  say('Calm.');
  const { id } = await openai.responses.create({ model, input: 'The sea?', store: false });
  await expectMissing(openai.responses.retrieve(id));
});

it('the longer input is what is reserved and counted', async () => {
  say('Calm.', 'Calm.');
  const first = await openai.responses.create({ model, input: 'harbour '.repeat(400) });
  const { input_tokens: whole } = await openai.responses.inputTokens.count({
    model,
    previous_response_id: first.id,
    input: 'And?',
  });
  expect(whole).toBeGreaterThan(400);
  const next = await openai.responses.create({ model, previous_response_id: first.id, input: 'And?' });
  expect(next.usage?.input_tokens).toBeGreaterThan(400);
  const end = harness.gateway.ends.at(-1);
  expect(end?.exchange.call?.size.textBytes).toBeGreaterThan(3200);
});

it.each([
  [{ previous_response_id: 'resp_x', conversation: 'conv_x' }, 'conversation'],
  [{ previous_response_id: 'resp_0' }, 'previous_response_id'],
  [{ conversation: 'conv_0' }, 'conversation'],
  [{ conversation: { id: 'resp\u0000' } }, 'conversation'],
])('a request with %j is refused with the name of the field', async (fields, param) => {
  const refused = openai.responses.create({ model, input: 'Ahoy', ...fields });
  await expect(refused).rejects.toMatchObject({ status: 400, param });
});

it('an error names the item in the request, and not where it comes in the whole conversation', async () => {
  say('Calm.');
  const first = await openai.responses.create({ model, input: 'The sea?' });
  const refused: Promise<unknown> = openai.post('/responses', {
    body: { model, previous_response_id: first.id, input: [{ role: 'user', content: 5 }] },
  });
  await expect(refused).rejects.toMatchObject({ status: 400, param: 'input[0].content' });
});

it('nothing that was said can be read in the files of the database', async () => {
  const secrets = ['marmalade-7121', 'quince-4410', 'gooseberry-9002'];
  const [asked = '', thought = '', answered = ''] = secrets;
  harness.vendors.responses.script(upstream, { reasoning: [thought], text: [answered] });
  const { id } = await openai.responses.create({ model, input: asked, reasoning: { summary: 'auto' } });
  expect(JSON.stringify(await openai.responses.retrieve(id))).toContain(answered);
  const folder = harness.gateway.dataFolder;
  const names = readdirSync(folder).filter((name) => name.startsWith('ledger.db'));
  expect(names.length).toBeGreaterThan(1);
  const bytes = Buffer.concat(names.map((name) => readFileSync(join(folder, name))));
  expect(bytes.includes(id)).toBe(true);
  for (const secret of secrets) expect(bytes.includes(secret)).toBe(false);
});

it('a fault of the store fails no call, and is said in log and metrics', async () => {
  const broken = await openFourWires({ store: { for: '1h' } });
  const database = new DatabaseSync(join(broken.gateway.dataFolder, 'ledger.db'));
  database.exec('DROP TABLE plugin_responses_kept');
  database.close();
  broken.vendors.responses.script(upstream, { text: ['Calm.'] });
  const { text, status } = await broken.ask('responses', model, { input: 'The sea?' });
  expect([status, text]).toEqual([200, expect.stringContaining('Calm.')]);
  expect(broken.gateway.log.join('')).toMatch(/"result":"failed".*a response is not kept: .*no such table/);
  const counted = await metrics.getSingleMetric('tollgate_stored_responses_total')?.get();
  expect(counted?.values.find(({ labels }) => labels.result === 'failed')?.value).toBeGreaterThan(0);
});
