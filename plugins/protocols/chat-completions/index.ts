/**
 * OpenAI's chat-completions protocol: the client side, the upstream side, and the model listing for clients.
 */
import { z } from 'zod';
import {
  definePlugin,
  type Protocol,
  type Edit,
  type Retarget,
  type Catalog,
  type Model,
  type Route,
  toGatewayError,
} from '../../../core/index.ts';
import { chatFlagsSchema, chatFlags, refuses } from '../../shared/openai/chat-flags.ts';
import { decodeError, encodeError, encodeStreamError } from '../../shared/openai/errors.ts';
import { selectOpenaiHeaders } from '../../shared/openai/fields.ts';
import { AlikeEvents } from '../../shared/wire-kit/alike-events.ts';
import {
  type ListedRates,
  buildListingRoutes,
  describeListed,
  formatPricing,
} from '../../shared/wire-kit/model-listing.ts';
import { matchPost } from '../../shared/wire-kit/read-call.ts';
import { parts, readRequest, ChatCall, limitFields } from './call.ts';
import { describeForCodex } from './codex-models.ts';
import { protocolName } from './encoding.ts';
import { correctReply } from './reply-facts.ts';
import { padding, ReplyDecoder } from './reply-in.ts';
import { ChunkEncoder, terminator, encodeReply } from './reply-out.ts';
import { encodeRequest, settings } from './settings.ts';

const path = '/v1/chat/completions';

const example =
  `curl {url}${path} -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" -d ` +
  `'{"model":"{model}","messages":[{"role":"user","content":"Hello!"}]}'`;

const fieldNames = {
  ...settings.fieldNames,
  turns: 'messages',
  '.cache': 'prompt_cache_breakpoint',
  '.source': 'image_url.url',
  '.detail': 'image_url.detail',
  '.filename': 'file.filename',
  '.schema': 'function.parameters',
  '.strict': 'function.strict',
  '.format': 'custom.format',
  '.arguments': 'function.arguments',
  '.opaque': 'extra_content',
};

export const protocol: Protocol = {
  name: protocolName,
  body: 'json',
  capabilities: chatFlagsSchema,
  client: {
    // Some base URLs have no version.
    match: matchPost(path, '/chat/completions'),
    read: readRequest,
    encodeEvents: (context) => new ChunkEncoder(context),
    encodeReply,
    encodeError,
    encodeStreamError,
    keepAlive: ': keep-alive\n\n',
    fieldNames,
  },
  upstream: {
    retarget,
    encodeRequest,
    parts,
    decodeEvents: (call, model) => new AlikeEvents(new ReplyDecoder(call, model), padding),
    decodeReply: (body, call, model) => new ReplyDecoder(call, model).decodeWhole(body),
    decodeError,
    correctReply,
    modelPaths: [['model']],
    buildHeaders: selectOpenaiHeaders,
    ending: 'event',
    terminator,
  },
  describeCalls: async () => (await import('./description.ts')).describeCalls(path),
};

export const chatCompletions = definePlugin({
  name: protocolName,
  options: z.strictObject({}),
  apply(host) {
    host.protocols.add(protocol);
    for (const route of buildModelRoutes(host.catalog)) host.routes.add(route);
    host.addAddress({ protocol: protocolName, client: 'openai', path: '/v1' });
    host.addExample(example);
  },
});

export function retarget({ call, model, outputLimit, capabilities }: Retarget): readonly Edit[] {
  const limit = outputLimit ?? call.outputLimit;
  const edits: Edit[] = [{ path: ['model'], value: model }];
  if (!(call instanceof ChatCall) || call.statesProvider)
    edits.push({ path: ['provider'], value: undefined });
  if (call.stream && refuses({ capabilities }, 'stream_options'))
    edits.push({ path: ['stream_options'], value: undefined });
  else if (call.stream && !call.usageWanted)
    edits.push({ path: ['stream_options', 'include_usage'], value: true });
  for (const field of limitFields) {
    const stated = call instanceof ChatCall ? call.limits[field] : undefined;
    const wanted = field === chatFlags(capabilities).outputLimitField ? limit : undefined;
    if (stated !== wanted) edits.push({ path: [field], value: wanted });
  }
  return edits;
}

/** The public model listing in chat style. Clients fill their menus from it, and read prices and limits. */
const listedRates: ListedRates = {
  prompt: ['input'],
  completion: ['output'],
  input_cache_read: ['cacheRead'],
  input_cache_write: ['cacheWrite5m', 'cacheWrite30m'],
  input_cache_write_1h: ['cacheWrite1h'],
  internal_reasoning: ['reasoning'],
  audio: ['inputAudio'],
  request: ['request'],
  image: ['image'],
  web_search: ['webSearch'],
};

function describeModel(model: Model): Record<string, unknown> {
  return {
    id: model.id,
    object: 'model',
    created: Date.parse(model.created) / 1000,
    name: model.name,
    pricing: formatPricing(model.price, listedRates),
    ...describeListed(model),
  };
}

export const pages = { limit: 'limit', after: 'after' } as const;

export function buildModelRoutes(catalog: Catalog): Route[] {
  return buildListingRoutes(catalog, {
    names: ['chat-models', 'chat-model'],
    // Without a version header: where protocols share the path, theirs come first.
    places: [{ path: '/v1/models' }, { path: '/models', isSpelling: true }],
    encodeError: (error) => encodeError(toGatewayError(error)),
    listModels: () => catalog.listModels(),
    describeModel,
    chooseForm: ({ query }) => (query.has('client_version') ? 'codex' : undefined),
    wrap: (data, { models, page, form }) => ({
      object: 'list',
      data,
      ...(form && { models: describeForCodex(models) }),
      ...(page && {
        first_id: page.models.at(0)?.id ?? null,
        last_id: page.models.at(-1)?.id ?? null,
        has_more: page.more,
      }),
    }),
    pages,
    byOwner: false,
    describe: () => import('./description.ts'),
  });
}
