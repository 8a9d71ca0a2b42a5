/** Conversations: their items by the SDK of OpenAI, and calls that read and extend them. */
import fc from 'fast-check';
import OpenAI, { NotFoundError } from 'openai';
import { beforeAll, expect, it } from 'vitest';
import { getModel, openFourWires, wires, type FourWires } from '../support/four-wires.ts';

let harness: FourWires;
let openai: OpenAI;
beforeAll(async () => {
  harness = await openFourWires({ store: { for: '1h' } });
  openai = new OpenAI({ apiKey: harness.key, baseURL: `${harness.gateway.url}/v1`, maxRetries: 0 });
});

async function listTexts(id: string, order: 'asc' | 'desc' = 'asc'): Promise<string[]> {
  const texts: string[] = [];
  for await (const item of openai.conversations.items.list(id, { order, limit: 2 }))
    if (item.type === 'message') for (const part of item.content) if ('text' in part) texts.push(part.text);
  return texts;
}

it('a conversation is created, read, changed and deleted', async () => {
  const { id } = await openai.conversations.create({
    items: [{ type: 'message', role: 'user', content: 'one' }],
    metadata: { ship: 'Anna' },
  });
  expect(await openai.conversations.retrieve(id)).toMatchObject({ id, metadata: { ship: 'Anna' } });
  await openai.conversations.update(id, { metadata: { ship: 'Berta' } });
  expect((await openai.conversations.retrieve(id)).metadata).toEqual({ ship: 'Berta' });
  const added = await openai.conversations.items.create(id, {
    items: [
      { role: 'user', content: 'two' },
      { role: 'user', content: 'three' },
    ],
  });
  expect(added.data).toHaveLength(2);
  expect(await listTexts(id)).toEqual(['one', 'two', 'three']);
  expect(await listTexts(id, 'desc')).toEqual(['three', 'two', 'one']);
  const [first] = added.data;
  const of = { conversation_id: id };
  expect(await openai.conversations.items.retrieve(first?.id ?? '', of)).toMatchObject({ id: first?.id });
  expect((await openai.conversations.items.delete(first?.id ?? '', of)).id).toBe(id);
  expect(await listTexts(id)).toEqual(['one', 'three']);
  expect(await openai.conversations.delete(id)).toMatchObject({ id, deleted: true });
  await expect(openai.conversations.retrieve(id)).rejects.toThrow(NotFoundError);
  await expect(openai.responses.retrieve(id)).rejects.toThrow(NotFoundError);
});

it.each(wires)('calls read a conversation and extend it, on %s', async (wire) => {
  const { id: model, upstream } = getModel(wire);
  harness.vendors[wire].script(upstream, { text: ['First.'] }, { text: ['Second.'] });
  const { id: conversation } = await openai.conversations.create({});
  const first = await openai.responses.create({ model, input: 'one', conversation });
  expect(first.conversation).toEqual({ id: conversation });
  await openai.responses
    .stream({ model, input: [{ role: 'user', content: 'two' }], conversation: { id: conversation } })
    .finalResponse();
  expect(await listTexts(conversation)).toEqual(['one', 'First.', 'two', 'Second.']);
  const sent = harness.vendors[wire].requests.at(-1)?.body.toString() ?? '';
  for (const said of ['one', 'First.', 'two']) expect(sent).toContain(said);
  expect(sent).not.toContain(conversation);
});

it('a call that is sent again with its Idempotency-Key adds to its conversation once', async () => {
  const { id: model, upstream } = getModel('responses');
  harness.vendors.responses.script(upstream, { text: ['Once.'] }, { text: ['Twice.'] });
  const { id: conversation } = await openai.conversations.create({});
  const options = { headers: { 'idempotency-key': 'conversation-1' } };
  const first = await openai.responses.create({ model, input: 'one', conversation }, options);
  const again = await openai.responses.create({ model, input: 'one', conversation }, options);
  expect([again.id, again.output_text]).toEqual([first.id, 'Once.']);
  expect(await listTexts(conversation)).toEqual(['one', 'Once.']);
});

it('whatever items a conversation is given come back equal, in their order', async () => {
  const item = fc.record({
    role: fc.constantFrom('user', 'assistant', 'developer'),
    content: fc.array(fc.record({ type: fc.constant('input_text'), text: fc.string({ unit: 'binary' }) })),
    note: fc.json({ noUnicodeString: false }).map((text): unknown => JSON.parse(text)),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(item, { minLength: 1, maxLength: 20 }), async (items) => {
      const { id } = await openai.post<{ id: string }>('/conversations', { body: { items } });
      const { data } = await openai.get<{ data: object[] }>(`/conversations/${id}/items?order=asc&limit=100`);
      expect(data).toEqual(
        items.map((each) =>
          // JSON has no minus zero.
          expect.objectContaining(JSON.parse(JSON.stringify({ ...each, type: 'message' }))),
        ),
      );
    }),
    { numRuns: 40 },
  );
});

it('at most 20 items are added at once', async () => {
  const { id } = await openai.conversations.create({});
  const items = Array.from({ length: 21 }, () => ({ role: 'user' as const, content: 'x' }));
  await expect(openai.conversations.items.create(id, { items })).rejects.toMatchObject({
    status: 400,
    param: 'items',
  });
});
