/** Anthropic's messages protocol: client side, upstream side, token counts and the model listing. */
import { z } from 'zod';
import {
  toGatewayError,
  type Catalog,
  type Model,
  type Route,
  definePlugin,
  type ClientHeaders,
  type Match,
  type Protocol,
  type Edit,
  type Retarget,
  type CountSide,
} from '../../../core/index.ts';
import { AlikeEvents } from '../../shared/wire-kit/alike-events.ts';
import {
  describeListed,
  formatPricing,
  buildListingRoutes,
  type ListedRates,
  listPlaces,
} from '../../shared/wire-kit/model-listing.ts';
import { readObject, readTokens } from '../../shared/wire-kit/values.ts';
import { splitNames } from '../../shared/wire-kit/vendor-bag.ts';
import { readVersion, parts, readRequest, versionHeader, MessagesCall } from './call.ts';
import { isClaudeCode, serveClaudeCode, toAcceptedId } from './claude-code.ts';
import { encodeError, protocolName, flagsSchema, decodeError, encodeStreamError } from './encoding.ts';
import { correctReply } from './reply-facts.ts';
import { ReplyDecoder } from './reply-in.ts';
import { ping, StreamEncoder, encodeReply } from './reply-out.ts';
import { encodeRequest, settings } from './request.ts';
import { leastBudget, lowerBudget } from './thinking.ts';

/** Cached input without its own price costs as much as other input. */
const listedRates: ListedRates = {
  prompt: ['input'],
  completion: ['output'],
  input_cache_read: ['cacheRead', 'input'],
  input_cache_write_5m: ['cacheWrite5m', 'cacheWrite30m', 'input'],
  input_cache_write_1h: ['cacheWrite1h', 'input'],
};

function describeModel(model: Model) {
  const { name, created, contextLength, outputLimit, expires } = model;
  return {
    type: 'model',
    id: model.id,
    display_name: name,
    created_at: `${created}T00:00:00Z`,
    // Anthropic's SDKs require the fields from here on. The catalogue knows not all that they list.
    max_input_tokens: contextLength,
    max_tokens: outputLimit,
    capabilities: null,
    line: null,
    lifecycle: expires ? 'deprecated' : 'active',
    deprecated_at: null,
    retires_at: expires && `${expires}T00:00:00Z`,
    pricing: formatPricing(model.price, listedRates),
    ...describeListed(model),
  };
}

export const pages = { limit: 'limit', after: 'after_id', before: 'before_id' } as const;

const encodeAnyError: Route['encodeError'] = (error, id) => encodeError(toGatewayError(error), id);

function buildModelRoutes(catalog: Catalog, mount: string): Route[] {
  return buildListingRoutes(catalog, {
    names: ['messages-models', 'messages-model'],
    places: listPlaces([mount, ''], '/v1', ({ headers }) => readVersion(headers) !== undefined),
    encodeError: encodeAnyError,
    // This protocol only reaches models with text output.
    listModels: () => catalog.listModels().filter(({ output }) => output.includes('text')),
    chooseForm: ({ headers }) => (isClaudeCode(headers) ? 'claude-code' : undefined),
    describeModel: (model, form) => ({
      ...describeModel(model),
      ...(form && { id: toAcceptedId(catalog, model.id) }),
    }),
    // All models are a single page, unless they are one of several.
    wrap: (data, { page }) => ({
      data,
      has_more: page?.more ?? false,
      first_id: data.at(0)?.id ?? null,
      last_id: data.at(-1)?.id ?? null,
    }),
    pages,
    byOwner: true,
    describe: () => import('./description.ts'),
  });
}

/** Fields that Anthropic refuses in a count request: the settings that are one value, and some of its own. */
const notCounted: ReadonlySet<string> = new Set([
  ...settings.written,
  ...splitNames('max_tokens stream container inference_geo diagnostics'),
]);

/** Counts the input tokens of a request. The count request is a normal one without fields about the reply. */
const count: CountSide = {
  buildAddress: (calls) => calls.replace(/(?=\?|$)/, '/count_tokens'),
  encodeRequest(request, model) {
    const { body, losses } = encodeRequest(request, model, undefined);
    const counted = Object.entries(readObject(body)).filter(([name]) => !notCounted.has(name));
    return { body: Object.fromEntries(counted), losses };
  },
  decodeReply: (body) => readTokens(body, 'input_tokens'),
  encodeReply: (tokens) => ({ input_tokens: tokens }),
};

const fieldNames = {
  ...settings.fieldNames,
  turns: 'messages',
  'reasoning.effort': 'output_config.effort',
  'reasoning.budget': 'thinking.budget_tokens',
  '.cache': 'cache_control',
  '.source': 'source.url',
  '.schema': 'input_schema',
  '.arguments': 'input',
  '.isError': 'is_error',
  '.opaque': 'signature',
};

/** The version of translated requests: with it, older models still accept sampling parameters. */
const ownVersion = '2023-06-01';

const vendorHeader = /^anthropic-/;
/** Headers about accounts and credentials. Only the provider plugin adds those. */
const accountHeader =
  /key|token|auth|secret|password|credential|cookie|session|organi[sz]ation|workspace|billing/;

/** Passes all headers of the vendor, because clients request new features with them. */
function buildHeaders(client: ClientHeaders): Record<string, string> {
  const headers: Record<string, string> = { [versionHeader]: readVersion(client) ?? ownVersion };
  for (const name in client) {
    const value = client[name];
    if (vendorHeader.test(name) && value !== undefined && !accountHeader.test(name))
      headers[name] = String(value);
  }
  return headers;
}

/** Calls are served below the mount and at the root. Some base URLs have no version. */
function createMatcher(mount: string): (method: string, path: string) => Match | undefined {
  const operations = new Map<string, Match>();
  for (const base of [`${mount}/v1`, mount, '/v1', '']) {
    operations.set(`POST ${base}/messages`, { operation: 'generate' });
    operations.set(`POST ${base}/messages/count_tokens`, { operation: 'count' });
  }
  return (method, path) => operations.get(`${method} ${path}`);
}

export function createProtocol(mount: string): Protocol {
  return {
    name: protocolName,
    body: 'json',
    capabilities: flagsSchema,
    client: {
      match: createMatcher(mount),
      read: readRequest,
      encodeEvents: (context) => new StreamEncoder(context),
      encodeReply,
      encodeError,
      encodeStreamError,
      keepAlive: ping,
      fieldNames,
    },
    upstream: {
      buildHeaders,
      retarget,
      encodeRequest,
      parts,
      decodeEvents: (call) => new AlikeEvents(new ReplyDecoder(call)),
      decodeReply: (body, call, _model, text) => new ReplyDecoder(call).decodeWhole(body, text),
      decodeError,
      correctReply,
      modelPaths: [['model'], ['message', 'model']],
      ending: 'event',
      caching: 'marked',
      openings: new Set(['message_start', 'ping']),
      terminator: '',
    },
    count,
    describeCalls: async () => (await import('./description.ts')).describeCalls(mount),
  };
}

export const messages = definePlugin({
  name: protocolName,
  options: z.strictObject({
    /** The path prefix of the protocol, as in the clients' base URL. */
    mount: z
      .string()
      .regex(/^(\/[\w.-]+)*$/, 'a path such as /alpha, without a slash at its end')
      .default('/alpha'),
  }),
  apply(host, { mount }) {
    host.protocols.add(createProtocol(mount));
    host.addAddress({
      protocol: protocolName,
      client: '@anthropic-ai/sdk',
      path: mount,
      also: /^\/(?:v1\/)?messages(?:\/|$)/,
    });
    host.addExample(
      `curl {url}${mount}/v1/messages -H "x-api-key: $KEY" -H "anthropic-version: 2023-06-01" -H ` +
        '"Content-Type: application/json" -d ' +
        `'{"model":"{model}","max_tokens":200,"messages":[{"role":"user","content":"Hello!"}]}'`,
    );
    for (const route of buildModelRoutes(host.catalog, mount)) host.routes.add(route);
    serveClaudeCode(host, mount, encodeAnyError);
  },
});

/** The one vendor that reads the text by which Claude Code is billed. */
const ownVendor = 'anthropic';

function retarget({ call, model, provider, outputLimit }: Retarget): readonly Edit[] {
  const edits: Edit[] = [{ path: ['model'], value: model }];
  if (!(call instanceof MessagesCall)) return edits;
  if (call.unbilled && provider !== ownVendor) edits.push({ path: ['system'], value: call.unbilled.value });
  if (call.namesProvider) edits.push({ path: ['provider'], value: undefined });
  if (call.isCount || outputLimit === undefined || outputLimit === call.outputLimit) return edits;
  edits.push({ path: ['max_tokens'], value: outputLimit });
  if (call.budget === undefined || call.budget < outputLimit) return edits;
  if (outputLimit <= leastBudget) edits.push({ path: ['thinking'], value: { type: 'disabled' } });
  else edits.push({ path: ['thinking', 'budget_tokens'], value: lowerBudget(outputLimit) });
  return edits;
}
