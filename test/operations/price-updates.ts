/** A gateway whose prices are updated from a file or a feed. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { z } from 'zod';
import { formatUsd, parseUsd, type Plugin } from '../../core/index.ts';
import { catalogue } from '../../plugins/operations/catalogue.ts';
import { prometheus } from '../../plugins/operations/prometheus.ts';
import { openHarness, type Harness } from '../support/harness.ts';
import { waitUntil } from '../support/operated.ts';
import { startScriptedVendor, type ScriptedVendor } from '../support/scripted-vendor.ts';

export let folder: string;
export let web: ScriptedVendor;
const model = 'openai/gpt-4o-mini';
export const usage = { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 };

/** models.dev's form. Its cached price is stated, so that no rate of the model keeps its old value. */
export const buildModelsDev = (input: number, output: number, cacheRead = 0.08): string =>
  JSON.stringify({
    openai: {
      models: { 'gpt-4o-mini': { id: 'gpt-4o-mini', cost: { input, output, cache_read: cacheRead } } },
    },
    elsewhere: { models: { other: { id: 'other', cost: { input: 1, output: 1 } } } },
  });

export function writeSource(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const result = z.looseObject({
  applied: z.number().nullable(),
  held: z.number().nullable(),
  matched: z.number(),
  fields: z.array(
    z.looseObject({ field: z.string(), old: z.string().optional(), new: z.string().optional() }),
  ),
  doubtful: z.array(z.object({ provider: z.string(), model: z.string(), reasons: z.array(z.string()) })),
});

const updates = z.array(
  z.looseObject({ id: z.number(), state: z.string(), by: z.string(), source: z.string() }),
);

export let harness: Harness;

export async function open(
  prices?: NonNullable<Parameters<typeof catalogue>[0]>['prices'],
  ...more: Plugin[]
): Promise<void> {
  harness = await openHarness({ plugins: [catalogue(prices ? { prices } : {}), prometheus(), ...more] });
  opened.push(harness);
  harness.vendor.script('gpt-4o-mini', { text: ['Yes.'], usage });
}

const opened: Harness[] = [];

export async function update(
  source: string,
  options: Record<string, string> = {},
): Promise<z.output<typeof result>> {
  return result.parse(await harness.gateway.verb('prices update', [source], options));
}

export async function list(): Promise<z.output<typeof updates>> {
  return updates.parse(await harness.gateway.verb('prices list'));
}

/** What a call costs, in USD for a thousand tokens in and a hundred out. */
export async function payForCall(): Promise<string> {
  const before = parseUsd((await harness.balance()).used.toFixed(9));
  await harness.client.chat.completions.create({ model, messages: [{ role: 'user', content: 'Hi' }] });
  return formatUsd(parseUsd((await harness.balance()).used.toFixed(9)) - before);
}

/** Waits until the gateway has another price for the model's input. */
export async function waitForPrice(prompt: string): Promise<void> {
  await waitUntil(async () => {
    const listed = await (await fetch(`${harness.gateway.url}/v1/models/${model}`)).text();
    return listed.includes(`"prompt":"${prompt}"`);
  });
}

export const catalogueCost = formatUsd((1000n * parseUsd('0.15') + 100n * parseUsd('0.60')) / 1_000_000n);

export function openPrices(): void {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tollgate-prices-'));
    web = await startScriptedVendor((response) => void response.writeHead(404).end());
  });
  afterAll(async () => {
    await web.close();
    rmSync(folder, { recursive: true, force: true });
  });
  afterEach(async () => {
    for (const each of opened.splice(0)) await each.close();
  });
}
