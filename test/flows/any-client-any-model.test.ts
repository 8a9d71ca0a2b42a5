/**
 * The official SDK of every client protocol reaches a provider of every wire, whole and streamed, and pays
 * for it. The providers refuse what the real ones refuse.
 */
import { beforeAll, expect, it } from 'vitest';
import { wires, type Wire } from '../support/replaying-vendor.ts';
import { openVendorHarness, readWire, type VendorHarness } from '../support/vendor-harness.ts';

/** Models that only this wire reaches. */
const models: Readonly<Record<Wire, string>> = {
  'chat-completions': 'deepseek/deepseek-v4-pro',
  responses: 'openai/gpt-5.3-codex',
  messages: 'anthropic/claude-sonnet-4-5',
  'generate-content': 'google/gemini-2.5-flash',
};

let harness: VendorHarness;
beforeAll(async () => {
  harness = await openVendorHarness();
});

const pairs = wires.flatMap((client) =>
  wires.flatMap((wire) => (['whole', 'streamed'] as const).map((form) => [client, wire, form] as const)),
);
it.each(pairs)('a %s client and a %s vendor understand each other, %s', async (client, wire, form) => {
  const model = models[wire];
  const before = harness.gateway.ends.length;
  const { text } = await harness.clients[client]({ text: 'Which herbs?', system: 'Be brief.' }).ask(
    model,
    form,
  );
  expect(text).toBe(`Hello from ${model.replace(/^.*\//, '')}, this is answer 1.`);
  const asked = harness.journal().at(-1);
  expect(asked && readWire(asked)).toBe(wire);
  expect(asked?.received.leaked).toEqual([]);
  const end = (await harness.gateway.ended(before + 1))[before];
  expect(end).toMatchObject({ type: 'answered', outcome: 'completed', charge: { basis: 'usage' } });
  expect(end?.type === 'answered' && end.charge.cost).toBeGreaterThan(0n);
});
