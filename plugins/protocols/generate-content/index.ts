/**
 * The generate-content protocol, Google's wire: client side, upstream side, token counts and model listing.
 */
import { z } from 'zod';
import { definePlugin, type Protocol } from '../../../core/index.ts';
import { buildMatcher, servedMethods } from './address.ts';
import { protocolName } from './bag.ts';
import { count } from './count.ts';
import { ReplyDecoder } from './decode-events.ts';
import { ChunkEncoder, encodeStreamError } from './encode-events.ts';
import { encodeReply } from './encode-reply.ts';
import { encodeRequest } from './encode-request.ts';
import { decodeError, encodeError } from './errors.ts';
import { fieldNames } from './field-names.ts';
import { listingRoutes } from './listing.ts';
import { readRequest } from './read-request.ts';
import { retarget } from './retarget.ts';

/** The protocol, served below `mount`. */
export function protocolAt(mount: string): Protocol {
  return {
    name: protocolName,
    body: 'json',
    client: {
      match: buildMatcher(mount),
      read: readRequest,
      fieldNames,
      encodeEvents: (context) => new ChunkEncoder(context),
      encodeReply,
      encodeError: (error, _id, match) => encodeError(error, match),
      encodeStreamError,
      // Clients of this wire accept nothing between two chunks, so there is no heartbeat.
      keepAlive: '',
    },
    upstream: {
      headers: () => ({}),
      retarget,
      encodeRequest,
      decodeEvents: (call, model) => new ReplyDecoder(call, model),
      decodeReply: (body, call, model) => new ReplyDecoder(call, model).whole(body),
      decodeError,
      modelPaths: [['modelVersion']],
      ending: 'silence',
      terminator: '',
    },
    count,
    openapi: async () => (await import('./description.ts')).describeCalls(mount),
  };
}

export const generateContent = definePlugin({
  name: protocolName,
  /** `mount` is the prefix of `/v1beta/models/…` and `/v1/models/…`. */
  options: z.strictObject({
    mount: z
      .string()
      .regex(/^(\/[\w.-]+)*$/, 'a path such as "/beta", without a trailing slash')
      .default('/beta'),
  }),
  apply(host, { mount }) {
    host.protocols.add(protocolAt(mount));
    host.address({ protocol: protocolName, client: '@google/genai', path: mount, serves: servedMethods });
    host.example(
      `curl {url}${mount}/v1beta/models/{model}:generateContent -H "x-goog-api-key: $KEY" -H "Content-Type: application/json" -d '{"contents":[{"role":"user","parts":[{"text":"Hello!"}]}]}'`,
    );
    for (const route of listingRoutes(host.catalog, mount)) host.routes.add(route);
  },
});
