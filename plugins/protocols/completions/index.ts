/**
 * OpenAI's older protocol, which continues a text: for models that complete texts, verbatim, and for any
 * other as a message. Mistral fills in the middle of a text by a wire of its own.
 */
import { z } from 'zod';
import { definePlugin, type Protocol } from '../../../core/index.ts';
import { decodeError, encodeError, encodeStreamError } from '../../shared/openai/errors.ts';
import { describeProtocol } from '../../shared/wire-kit/foreign-fields.ts';
import { matchPost } from '../../shared/wire-kit/read-call.ts';
import { splitNames } from '../../shared/wire-kit/vendor-bag.ts';
import { describeCalls, readRequest, retarget } from './call.ts';
import { ChunkEncoder, encodeReply, ReplyDecoder, terminator } from './reply.ts';
import { encodeForMistral, encodeRequest, protocolName, settings } from './request.ts';

const path = '/v1/completions';

export const protocol: Protocol = {
  name: protocolName,
  body: 'json',
  client: {
    // Some base URLs have no version.
    match: matchPost(path, '/completions'),
    read: readRequest,
    fieldNames: { ...settings.fieldNames, turns: 'prompt' },
    encodeEvents: (context) => new ChunkEncoder(context),
    encodeReply,
    encodeError,
    encodeStreamError,
    keepAlive: ': keep-alive\n\n',
  },
  upstream: {
    buildHeaders: () => ({}),
    retarget,
    encodeRequest,
    decodeEvents: (call) => new ReplyDecoder(call),
    decodeReply: (body, call) => new ReplyDecoder(call).decodeWhole(body),
    decodeError,
    modelPaths: [['model']],
    ending: 'event',
    terminator,
  },
  describeCalls: () => describeCalls(path),
  describeAbilities: async () => (await import('./abilities.json', { with: { type: 'json' } })).default,
};

/** Only vendors speak it. */
export const mistral: Protocol = {
  ...protocol,
  name: 'mistral-fim',
  client: { ...protocol.client, match: () => undefined },
  upstream: { ...protocol.upstream, encodeRequest: encodeForMistral },
  describeCalls: async () => [],
  describeAbilities: async () => ({}),
};

export const completions = definePlugin({
  name: protocolName,
  options: z.strictObject({}),
  apply(host) {
    host.protocols.add(protocol);
    host.protocols.add(mistral);
    host.addAddress({ protocol: protocolName, client: 'openai', path: '/v1' });
  },
});

describeProtocol(protocolName, {
  partly: splitNames('stream_options'),
  collections: splitNames('logit_bias'),
  switches: splitNames('echo'),
});
