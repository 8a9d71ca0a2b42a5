/** A model that needs no key and no network, so that a newcomer sees a call, its stream and its price within the first minute. */
import { z } from 'zod';
import { checkModel, definePlugin, type Provider } from '../../core/index.ts';
import { replyTo } from './demo/reply.ts';

const provider: Provider = { name: 'demo', endpoints: { 'chat-completions': 'http://demo.invalid/v1/chat/completions' }, sign: (request) => request };

const model = checkModel({
  id: 'demo/echo', upstream: 'echo', name: 'Demo Echo', created: '2026-07-02',
  description: 'Answers offline, without a vendor, by quoting what it was sent; its small price is real to the ledger.',
  contextLength: 262_144, outputLimit: 16_384, input: ['text'], output: ['text'],
  price: { input: '0.10', output: '0.40' },
  supportedParameters: ['max_tokens', 'n', 'response_format', 'stop', 'tool_choice', 'tools'],
});

export const demo = definePlugin({
  name: 'demo',
  /** Milliseconds between two words of a stream, so that one can see it flow. */
  options: z.strictObject({ pace: z.int().nonnegative().default(20) }),
  apply(host, { pace }) {
    host.providers.add(provider);
    host.catalog.offer(provider, [model]);
    host.hooks.dispatch.tapPromise('demo', async ({ body }, { attempt, id, receivedAt }) => {
      if (attempt.target.provider !== provider) return undefined;
      attempt.sent = true;
      return replyTo(body, { id, created: Math.floor(receivedAt / 1000), pace, signal: attempt.signal });
    });
  },
});
