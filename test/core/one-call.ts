/** A gateway whose provider is a tap on `dispatch`, and a call to it. */
import { z } from 'zod';
import type { ConfigInput } from '../../core/config.ts';
import {
  definePlugin,
  type End,
  type Host,
  type Plugin,
  type PluginFactory,
  type Routed,
  type UpstreamRequest,
} from '../../core/index.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { plain } from '../support/plain-protocol.ts';
import { tappedVendor, type TappedReply } from '../support/tapped-vendor.ts';

export type Behaviour = (request: UpstreamRequest, exchange: Routed) => Promise<TappedReply>;

/** A provider that serves `house/model` and does what a test says. */
export function buildVendor(name: string, behaviour: Behaviour): Plugin {
  const facts = { upstream: 'model', free: undefined, price: { input: '1', output: '2' } };
  return tappedVendor(name, ['plain'], behaviour, facts);
}

/** A plugin with one test's own taps; it authenticates everyone unless the test taps that itself. */
export function defineTaps(apply: (host: Host) => void, open = true): PluginFactory<z.ZodObject> {
  return definePlugin({
    name: 'taps',
    options: z.strictObject({}),
    apply(host) {
      apply(host);
      if (open)
        host.hooks.authenticate.tapPromise('anyone', async () => ({ kind: 'user', account: 'a', key: 'k' }));
    },
  });
}

export const open = defineTaps(() => undefined);
export const answerWhole: Behaviour = async () => ({ body: '{"model":"m","text":"hello","in":3,"out":4}' });

export function streamParts(parts: () => AsyncIterable<string>): Behaviour {
  return async () => ({ type: 'text/event-stream', body: parts() });
}

export const answerStream = streamParts(async function* () {
  yield 'data: {"model":"m","text":"one"}\n\n';
  yield 'data: {"model":"m","text":"two"}\n\n';
  yield 'data: {"done":true,"in":3,"out":4}\n\n';
});

export async function openGateway(
  plugins: ConfigInput['plugins'],
  settings: Partial<ConfigInput> = {},
): Promise<TestGateway> {
  const gateway = await startGateway({ ...settings, plugins: [plain(), ...plugins] });
  return gateway;
}

export function call({ url }: TestGateway, body: unknown = {}, init: RequestInit = {}): Promise<Response> {
  const text =
    typeof body === 'string'
      ? body
      : JSON.stringify({
          model: 'house/model',
          prompt: 'hi',
          ...z.record(z.string(), z.unknown()).parse(body),
        });
  return fetch(`${url}/plain`, { method: 'POST', body: text, ...init });
}

export async function waitForEnd(of: TestGateway): Promise<End> {
  const [end] = await of.ended(1);
  if (!end) throw new Error('no end was observed');
  return end;
}
