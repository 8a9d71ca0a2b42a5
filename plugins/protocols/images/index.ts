/**
 * OpenAI's protocol to create and edit pictures: the client side, the upstream side, and the models that it
 * reaches.
 */
import { z } from 'zod';
import {
  definePlugin,
  type Match,
  type Protocol,
  GatewayError,
  type Parsed,
  type Target,
} from '../../../core/index.ts';
import { readForm } from '../../shared/forms.ts';
import { decodeError, encodeError, encodeStreamError } from '../../shared/openai/errors.ts';
import { createReader, ImageCall } from './call.ts';
import { ReplyDecoder, PictureEncoder, encodeReply, type QualityOption } from './reply.ts';
import { encodeRequest, settingFields } from './request.ts';
import { protocolName } from './wire.ts';

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
  ...Object.fromEntries(Object.entries(settingFields).map(([name, field]) => [`image.${name}`, field])),
};

export function createProtocol({ quality }: { readonly quality: QualityOption }): Protocol {
  return {
    name: protocolName,
    body: 'multipart',
    client: {
      match: (method, path) => calls[`${method} ${path}`],
      readForm,
      read: createReader(quality),
      fieldNames,
      encodeEvents: (context) => new PictureEncoder(context, quality),
      encodeReply: (events, context) => encodeReply(events, context, quality),
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
   * `optional` accepts calls without `quality`, as OpenAI does, and fills in `auto`; the usage of every reply
   * has `image_tokens` of the input, which LiteLLM's client needs. `required` is the interface to the letter:
   * it refuses such calls, and only edits report `image_tokens` of the input.
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

/**
 * Keeps calls for pictures away from models that cannot create them, and calls for text away from models
 * that only create pictures. Throws if there were targets, but none of them is left.
 */
export function keepReachable(targets: readonly Target[], parsed: Parsed): readonly Target[] {
  if (parsed.protocol.name === 'messages') {
    return keepFitting(
      targets,
      ({ model }) => model.output.includes('text'),
      `The model "${parsed.call.model}" returns only pictures, which this protocol cannot show.`,
    );
  }
  if (parsed.protocol.name !== protocolName) return targets;
  const painters = keepFitting(
    targets,
    ({ model }) => model.output.includes('image'),
    `The model "${parsed.call.model}" cannot create images.`,
  );
  if (parsed.operation === 'edit')
    return keepFitting(
      painters,
      ({ protocol }) => protocol.name === protocolName,
      'Image editing is not supported for model',
    );
  if (!(parsed.call instanceof ImageCall && parsed.call.statesCount)) return painters;
  return keepFitting(
    painters,
    ({ protocol }) => protocol.name !== 'generate-content',
    'This model does not support "n", because it always creates one image: leave it out.',
    'n',
  );
}

function keepFitting(
  targets: readonly Target[],
  fits: (target: Target) => boolean,
  otherwise: string,
  param = 'model',
): readonly Target[] {
  const fitting = targets.filter(fits);
  if (targets.length > 0 && fitting.length === 0)
    throw new GatewayError('invalid_request', otherwise, { param });
  return fitting;
}
