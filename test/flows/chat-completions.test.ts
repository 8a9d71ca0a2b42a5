/**
 * The main job: the official SDK calls a provider through the gateway, and the balance falls by what the call
 * cost.
 */
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { formatUsd, parseUsd } from '../../core/index.ts';
import { openHarness, type Harness } from '../support/harness.ts';

const model = 'openai/gpt-4o-mini';
const messages = [{ role: 'user' as const, content: 'Name a bridge.' }];
/** What gpt-4o-mini costs by the provider's own price list, in USD per million tokens. */
const price = { input: parseUsd('0.15'), output: parseUsd('0.60'), cached: parseUsd('0.075') };

let harness: Harness;
beforeAll(async () => {
  harness = await openHarness();
});
afterEach(() => harness.vendor.unscript());
afterAll(() => harness.close());

/** What the account paid for a call, in exact USD. */
async function measurePaid(call: () => Promise<unknown>): Promise<string> {
  const before = parseUsd((await harness.balance()).used.toFixed(9));
  await call();
  return formatUsd(parseUsd((await harness.balance()).used.toFixed(9)) - before);
}

it('a call returns the whole reply, names the model that answered, and costs exactly its usage', async () => {
  harness.vendor.script('gpt-4o-mini', {
    text: ['The Forth Bridge.'],
    usage: { prompt_tokens: 1003, completion_tokens: 77, total_tokens: 1080 },
  });
  const paid = await measurePaid(async () => {
    const reply = await harness.client.chat.completions.create({ model, messages });
    expect(reply).toMatchObject({
      model,
      object: 'chat.completion',
      choices: [{ message: { content: 'The Forth Bridge.' }, finish_reason: 'stop' }],
    });
  });
  expect(paid).toBe(formatUsd((1003n * price.input + 77n * price.output) / 1_000_000n));
});

it('a call costs less for tokens the provider had cached', async () => {
  harness.vendor.script('gpt-4o-mini', {
    text: ['Yes.'],
    usage: {
      prompt_tokens: 2000,
      completion_tokens: 10,
      total_tokens: 2010,
      prompt_tokens_details: { cached_tokens: 1536 },
    },
  });
  const paid = await measurePaid(() => harness.client.chat.completions.create({ model, messages }));
  expect(paid).toBe(formatUsd((464n * price.input + 1536n * price.cached + 10n * price.output) / 1_000_000n));
});

it("a call streams word by word through the SDK's helper, and costs exactly its usage", async () => {
  harness.vendor.script('gpt-4o-mini', { text: ['The ', 'Rialto', ' 橋.'] });
  let usage: { prompt: number; completion: number } | undefined;
  const paid = await measurePaid(async () => {
    const stream = harness.client.chat.completions.stream({ model, messages });
    const pieces: string[] = [];
    stream.on('content', (piece) => void pieces.push(piece));
    const reply = await stream.finalChatCompletion();
    expect(pieces).toEqual(['The ', 'Rialto', ' 橋.']);
    expect(reply).toMatchObject({
      model,
      choices: [{ message: { content: 'The Rialto 橋.' }, finish_reason: 'stop' }],
    });
    usage = harness.vendor.journal.at(-1)?.billed;
  });
  expect(usage).toBeDefined();
  expect(paid).toBe(
    formatUsd(
      (BigInt(usage?.prompt ?? 0) * price.input + BigInt(usage?.completion ?? 0) * price.output) / 1_000_000n,
    ),
  );
});

it('an error of the provider about its rate limit keeps retry-after', async () => {
  harness.vendor.script('gpt-4o-mini', {
    reply: {
      status: 429,
      headers: { 'retry-after': '2' },
      body: {
        error: {
          message: 'Rate limit for org-secret',
          type: 'requests',
          param: null,
          code: 'rate_limit_exceeded',
        },
      },
    },
  });
  const response = await harness.post({ model, messages });
  expect([
    response.status,
    response.headers.get('retry-after'),
    response.headers.get('x-should-retry'),
  ]).toEqual([429, '2', null]);
  expect(await response.text()).not.toContain('org-secret');
});

it('an error of the provider costs its caller nothing', async () => {
  harness.vendor.script('gpt-4o-mini', { reply: { status: 500, body: 'oops' } });
  expect(
    await measurePaid(() =>
      harness.client.chat.completions.create({ model, messages }).catch(() => undefined),
    ),
  ).toBe('0');
});
