/** A gateway with a ledger in a folder of each test, and a provider that does what the test says. */
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { z } from 'zod';
import {
  definePlugin,
  type Host,
  type ModelFacts,
  type PluginFactory,
  type UpstreamRequest,
} from '../../core/index.ts';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { makeFolder } from '../support/folder.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { plain } from '../support/plain-protocol.ts';
import { postJson } from '../support/post.ts';
import { readBooks } from './ledger-file.ts';
import { target } from './targets.ts';

export type Options = Parameters<typeof balance>[0];

const keySchema = z.object({ key: z.string(), id: z.string(), account: z.string() });
export let dataFolder: string;
let running: TestGateway | undefined;

/** What the test's provider was asked, and what it answers: tokens of usage, or an error status. */
export interface Vendor {
  readonly asked: { prompt: string; limit?: number }[];
  answer: { in: number; out: number } | { status: number };
  readonly facts?: Partial<ModelFacts>;
}

async function* yieldOnce(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

function defineHouse(vendor: Vendor): PluginFactory<z.ZodObject> {
  return definePlugin({
    name: 'house',
    options: z.strictObject({}),
    apply(host) {
      const { provider, model } = target('house', { input: '1', output: '2' }, vendor.facts);
      host.providers.add(provider);
      host.catalog.offer(provider, [model]);
      host.hooks.dispatch.tapPromise('house', async (request: UpstreamRequest) => {
        vendor.asked.push(JSON.parse(String(request.body)));
        const { answer } = vendor;
        const status = 'status' in answer ? answer.status : 200;
        return {
          status,
          headers: { 'content-type': 'application/json' },
          body: yieldOnce(JSON.stringify({ model: 'm', text: 'hello', ...answer })),
        };
      });
      // Not in the verbatim lane, so that the encoder sends the limit and the test can see it.
      host.hooks.transformRequest.tapPromise(
        { name: 'translated', when: () => true },
        async (request) => request,
      );
    },
  });
}

export async function start(
  vendor: Vendor = { asked: [], answer: { in: 3, out: 4 } },
  options: Options = {},
  more?: (host: Host) => void,
): Promise<TestGateway> {
  const extra = definePlugin({ name: 'extra', options: z.strictObject({}), apply: (host) => more?.(host) });
  running = await startGateway({
    dataFolder,
    plugins: [plain(), bearer(), defineHouse(vendor)(), balance(options), extra()],
  });
  return running;
}

export async function createKey(
  gateway: TestGateway,
  options: Record<string, string> = {},
): Promise<z.infer<typeof keySchema>> {
  return keySchema.parse(await gateway.verb('keys create', [], options));
}

export function call(gateway: TestGateway, key: string, body: object = {}): Promise<Response> {
  return postJson(
    `${gateway.url}/plain`,
    { model: 'house/model', prompt: 'hello', ...body },
    { authorization: `Bearer ${key}` },
  );
}

export const readLedger = () => readBooks(join(dataFolder, 'ledger.db'));

export function useFolder(): void {
  beforeEach(() => {
    dataFolder = makeFolder();
  });
  afterEach(async () => {
    await running?.close();
    running = undefined;
  });
}
