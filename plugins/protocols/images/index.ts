/**
 * OpenAI's protocol to create and edit pictures: the client side, the upstream side, and the models that it
 * reaches.
 */
import { z } from 'zod';
import { definePlugin, type Match, type Protocol } from '../../../core/index.ts';
import { decodeError, encodeError, encodeStreamError } from '../../shared/wire-kit/openai-error.ts';
import { protocolName } from './bag.ts';
import { ReplyDecoder } from './decode-events.ts';
import { PictureEncoder, encodeReply } from './encode-events.ts';
import { encodeRequest } from './encode-request.ts';
import { keepReachable } from './reach.ts';
import { createReader } from './read-request.ts';

const generation: Match = { operation: 'generate', body: 'json' };
const edit: Match = { operation: 'edit' };

/** Some base URLs have no version. */
const calls: Readonly<Record<string, Match>> = {
  'POST /v1/images/generations': generation,
  'POST /v1/images/edits': edit,
  'POST /images/generations': generation,
  'POST /images/edits': edit,
};

const example =
  'curl {url}/v1/images/generations -H "Authorization: Bearer $KEY" -H "Content-Type: ' +
  `application/json" -d '{"model":"{model}","prompt":"A lighthouse","quality":"auto","size":"1024x1024"}'`;

const fieldNames = {
  candidates: 'n',
  'image.size': 'size',
  'image.quality': 'quality',
  'image.format': 'output_format',
  'image.compression': 'output_compression',
  'image.background': 'background',
  'image.partials': 'partial_images',
  'image.moderation': 'moderation',
  'image.fidelity': 'input_fidelity',
};

export function createProtocol({ quality }: { readonly quality: 'required' | 'optional' }): Protocol {
  return {
    name: protocolName,
    body: 'multipart',
    client: {
      match: (method, path) => calls[`${method} ${path}`],
      read: createReader(quality),
      fieldNames,
      encodeEvents: (context) => new PictureEncoder(context),
      encodeReply,
      encodeError,
      encodeStreamError,
      keepAlive: ': keep-alive\n\n',
    },
    upstream: {
      buildHeaders: () => ({}),
      retarget: ({ model }) => [{ path: ['model'], value: model }],
      encodeRequest,
      decodeEvents: (call) => new ReplyDecoder(call),
      decodeReply: (body, call) => new ReplyDecoder(call).decodeWhole(body),
      decodeError,
      modelPaths: [['model']],
      ending: 'event',
      terminator: '',
    },
    describeCalls: async () => (await import('./description.ts')).describeCalls(quality),
  };
}

export const images = definePlugin({
  name: protocolName,
  /**
   * `optional` accepts calls without `quality`, as OpenAI does, and fills in `auto`. `required` refuses them,
   * as the interface does.
   */
  options: z.strictObject({ quality: z.enum(['required', 'optional']).default('optional') }),
  apply(host, options) {
    host.protocols.add(createProtocol(options));
    host.addAddress({ protocol: protocolName, client: 'openai', path: '/v1' });
    host.addExample(example, 'image');
    // Runs after the taps that add targets.
    host.hooks.route.tap(
      { name: protocolName, stage: 1, because: 'it cannot produce the output of the call' },
      (targets, parsed) => keepReachable(targets, parsed),
    );
  },
});
