/**
 * The official SDK of every client protocol reaches a provider of every wire, whole and streamed, and pays
 * for it. The providers refuse what the real ones refuse, and accept no call back without the signatures they
 * gave with it.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { wires, type Wire } from '../support/replaying-vendor.ts';
import type { Form } from '../support/sdk-clients.ts';
import { openVendorHarness, readWire, type VendorHarness } from '../support/vendor-harness.ts';

/** Models that only this wire reaches: one that answers at once, and one that reasons first. */
const models: Readonly<Record<Wire, { readonly plain: string; readonly thinking: string }>> = {
  'chat-completions': { plain: 'deepseek/deepseek-v4-pro', thinking: 'deepseek/deepseek-v4-flash' },
  responses: { plain: 'openai/gpt-5.3-codex', thinking: 'openai/gpt-5.5-pro' },
  messages: { plain: 'anthropic/claude-sonnet-4-5', thinking: 'anthropic/claude-opus-4-6' },
  'generate-content': { plain: 'google/gemini-2.5-flash', thinking: 'google/gemini-3-flash-preview' },
};

const tools = [
  {
    name: 'find-town',
    description: 'Finds a town.',
    schema: {
      type: 'object',
      properties: { town: { type: 'string' }, near: { type: ['string', 'null'] } },
      required: ['town'],
      additionalProperties: false,
    },
  },
  { name: 'now', schema: { type: 'object', properties: {} } },
  {
    name: 'open_file',
    schema: {
      type: 'object',
      properties: { path: { $ref: '#/$defs/path' } },
      $defs: { path: { type: 'string', minLength: 1 } },
    },
  },
];

let harness: VendorHarness;
beforeAll(async () => {
  harness = await openVendorHarness();
});
afterAll(() => harness.close());

const pairs = wires.flatMap((client) => wires.map((wire): [client: Wire, wire: Wire] => [client, wire]));
const forms: readonly Form[] = ['whole', 'streamed'];

describe.each(pairs)('a %s client and a %s vendor', (client, wire) => {
  const { plain, thinking } = models[wire];

  it.each(forms)('understand each other, %s', async (form) => {
    const before = harness.gateway.ends.length;
    const { text } = await harness.clients[client]({ text: 'Which herbs?', system: 'Be brief.' }).ask(
      plain,
      form,
    );
    expect(text).toBe(`Hello from ${plain.replace(/^.*\//, '')}, this is answer 1.`);
    const asked = harness.journal().at(-1);
    expect(asked && readWire(asked)).toBe(wire);
    expect(asked?.received.leaked).toEqual([]);
    const end = (await harness.gateway.ended(before + 1))[before];
    expect(end).toMatchObject({ type: 'answered', outcome: 'completed', charge: { basis: 'usage' } });
    expect(end?.type === 'answered' && end.charge.cost).toBeGreaterThan(0n);
  });

  it.each(forms)(
    'complete a loop of three tool calls, with or without reasoning, and the next question, %s',
    async (form) => {
      for (const model of [plain, thinking]) {
        const talk = harness.clients[client]({ text: 'Look around.', tools, thinks: model === thinking });
        const asked = await talk.ask(model, form);
        expect(
          asked.calls.map(({ name }) => name),
          model,
        ).toEqual(tools.map(({ name }) => name));
        expect(asked.calls[1]?.arguments, model).toEqual({});
        talk.answer(['Whitby', 'noon', 'done']);
        expect((await talk.ask(model, form)).text, model).toBe(
          'find-town said: Whitby; now said: noon; open_file said: done',
        );
        talk.say('Once more.');
        expect((await talk.ask(model, form)).calls, model).toHaveLength(3);
      }
    },
  );
});
