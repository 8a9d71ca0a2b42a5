/** The generate-content protocol, Google's wire: its client side, its upstream side, its counts and its listing. */
import { z } from 'zod';
import { definePlugin, type Protocol } from '../../../core/index.ts';
import { matcher, served } from './address.ts';
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

/** The protocol, served below an address. */
export function protocolAt(mount: string): Protocol {
  return {
    name: protocolName,
    body: 'json',
    client: {
      match: matcher(mount),
      read: readRequest,
      fieldNames,
      encodeEvents: (context) => new ChunkEncoder(context),
      encodeReply,
      encodeError: (error, _id, match) => encodeError(error, match),
      encodeStreamError,
      // Its clients bear nothing between two chunks.
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
  /** Where it is served: `/v1beta/models/…` and `/v1/models/…` follow. */
  options: z.strictObject({
    mount: z
      .string()
      .regex(/^(\/[\w.-]+)*$/, 'a path such as "/beta", without a slash at its end')
      .default('/beta'),
  }),
  apply(host, { mount }) {
    host.protocols.add(protocolAt(mount));
    host.address({ protocol: protocolName, client: '@google/genai', path: mount, serves: served });
    host.example(
      `curl {url}${mount}/v1beta/models/{model}:generateContent -H "x-goog-api-key: $KEY" -H "Content-Type: application/json" -d '{"contents":[{"role":"user","parts":[{"text":"Hello!"}]}]}'`,
    );
    for (const route of listingRoutes(host.catalog, mount)) host.routes.add(route);
  },
});
