/**
 * Models that need no key and no network, so that a newcomer sees a call, its stream, a picture and their
 * prices within the first minute.
 */
import { z } from 'zod';
import {
  definePlugin,
  type Provider,
  type Routed,
  type UpstreamRequest,
  type UpstreamResponse,
} from '../../core/index.ts';
import { echo, painter } from './demo/models.ts';
import { replyWithPicture } from './demo/picture-reply.ts';
import { replyTo } from './demo/reply.ts';

const origin = 'http://demo.invalid/v1';
const buildImagesAddress = (_target: unknown, operation: string): string =>
  `${origin}/images/${operation === 'edit' ? 'edits' : 'generations'}`;
const provider: Provider = {
  name: 'demo',
  endpoints: { 'chat-completions': `${origin}/chat/completions`, images: buildImagesAddress },
  sign: (request) => request,
};

export const demo = definePlugin({
  name: 'demo',
  /** Milliseconds between two words of a stream, so that one can see it flow. */
  options: z.strictObject({ pace: z.int().nonnegative().default(20) }),
  apply(host, { pace }) {
    host.providers.add(provider);
    host.catalog.offer(provider, [echo, painter]);
    const answer = async (
      request: UpstreamRequest,
      { attempt, id, receivedAt }: Routed,
    ): Promise<UpstreamResponse> => {
      attempt.sent = true;
      const context = { id, created: Math.floor(receivedAt / 1000), pace, signal: attempt.signal };
      if (attempt.target.model !== painter) return replyTo(request.body, context);
      return replyWithPicture(request, context);
    };
    host.hooks.dispatch.tapPromise('demo', (request, routed) =>
      routed.attempt.target.provider === provider ? answer(request, routed) : undefined,
    );
  },
});
