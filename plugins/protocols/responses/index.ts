/** The OpenAI responses protocol: client side, upstream side and token counts. */
import { z } from 'zod';
import {
  definePlugin,
  GatewayError,
  sliceMember,
  splice,
  toGatewayError,
  type CanonicalEvent,
  type ClientCall,
  type ClientHeaders,
  type ErrorReply,
  type Operation,
  type Protocol,
  type Edit,
  type Retarget,
  type CountSide,
} from '../../../core/index.ts';
import { dataKeySchema, useKeyRing } from '../../shared/key-ring.ts';
import { decodeError, encodeError } from '../../shared/openai/errors.ts';
import { selectOpenaiHeaders } from '../../shared/openai/fields.ts';
import { readObject, readTokens } from '../../shared/wire-kit/values.ts';
import { splitNames } from '../../shared/wire-kit/vendor-bag.ts';
import { checkOwnItems, parts, readRequest, ResponsesCall, type ReadingRules } from './call.ts';
import { tapCompaction } from './compaction.ts';
import { bases, protocolName, flagsSchema, readFlags } from './encoding.ts';
import { createExpander } from './expansion.ts';
import { ReplyDecoder } from './reply-in.ts';
import { encodeStreamError, ReplyEncoder, terminator, encodeReply } from './reply-out.ts';
import { encodeRequest, settings } from './settings.ts';
import type { Stored } from './stored.ts';
import { keepResponses, storeOptions } from './storing.ts';

/** The only fields that OpenAI accepts in a count request. */
const countedFields = splitNames(`
  model input instructions truncation parallel_tool_calls reasoning text tool_choice tools
`);

/** Counts the input tokens of a request: a normal one without fields about the output. */
export const count: CountSide = {
  buildAddress: (calls) => calls.replace(/(?=\?|$)/, '/input_tokens'),
  encodeRequest(request, model) {
    const { body, losses } = encodeRequest(request, model, undefined);
    const counted = Object.entries(readObject(body)).filter(([name]) => countedFields.has(name));
    return { body: Object.fromEntries(counted), losses };
  },
  decodeReply: (body) => readTokens(body, 'input_tokens'),
  encodeReply: (tokens) => ({ object: 'response.input_tokens', input_tokens: tokens }),
};

/** What the gateway resolves itself. */
const references = ['previous_response_id', 'conversation', 'background'] as const;

const operations: ReadonlyMap<string, Operation> = new Map(
  bases.flatMap((base): [string, Operation][] => [
    [`${base}/responses`, 'generate'],
    [`${base}/responses/input_tokens`, 'count'],
    [`${base}/responses/compact`, 'compact'],
  ]),
);

/** This protocol's names of canonical fields, for the paths of losses. */
const fieldNames = {
  ...settings.fieldNames,
  turns: 'input',
  '.cache': 'prompt_cache_breakpoint',
  // A message's own fields are kept on its first part,
  '.item': '..',
  // and a namespace's own fields on its first tool.
  'tools.namespace': '..',
  '.source': 'image_url',
  '.schema': 'parameters',
  '.opaque': 'encrypted_content',
};

/** By this header OpenAI knows Codex's short form of requests, whose tools are in the first item. */
const liteHeader = 'x-openai-internal-codex-responses-lite';

function selectHeaders(client: ClientHeaders): Record<string, string> {
  const lite = client[liteHeader];
  return { ...selectOpenaiHeaders(client), ...(lite === undefined ? {} : { [liteHeader]: String(lite) }) };
}

/**
 * Codex does not retry 429 with the code `insufficient_quota`, but it retries any other error about an empty
 * account. It retries a failed provider 30 times, and 503 with `server_is_overloaded` only five times.
 */
function encodeCallError(error: GatewayError): ErrorReply {
  const { code, message, details } = error;
  if (code === 'upstream_failed' || code === 'timeout')
    return encodeError(new GatewayError('upstream_overloaded', message, details));
  const { status, body } = encodeError(error);
  return { status: code === 'out_of_balance' || code === 'budget_exceeded' ? 429 : status, body };
}

function encodeRouteError(error: unknown): ErrorReply {
  return encodeCallError(toGatewayError(error));
}

/** `getStored` gets what the gateway keeps. Without it the endpoint is stateless. */
export function createProtocol(
  assistantItems: ReadingRules['assistantItems'],
  getStored?: () => Stored,
): Protocol {
  const rules: ReadingRules = { assistantItems, keeps: getStored !== undefined };
  return {
    name: protocolName,
    body: 'json',
    repeatsText: true,
    capabilities: flagsSchema,
    client: {
      match(method, path) {
        const operation = method === 'POST' ? operations.get(path) : undefined;
        return operation && { operation };
      },
      read: (body, text, match) => readRequest(body, text, match, rules),
      ...(getStored && { expand: createExpander(getStored, (input) => checkOwnItems(input, rules)) }),
      encodeEvents: (context) => new ReplyEncoder(context),
      encodeReply,
      encodeError: encodeCallError,
      encodeStreamError,
      keepAlive: ': keep-alive\n\n',
      fieldNames,
      usagePath: { reply: ['usage'], event: ['response', 'usage'] },
    },
    upstream: {
      buildHeaders: selectHeaders,
      retarget,
      encodeRequest,
      parts,
      decodeEvents: (call, model) => new ReplyDecoder(call, model),
      decodeReply: (body, call, model) => new ReplyDecoder(call, model).decodeWhole(body),
      decodeError,
      modelPaths: [['response', 'model'], ['model']],
      ending: 'event',
      caching: 'automatic',
      openings: new Set(['response.created', 'response.queued', 'response.in_progress', 'keepalive']),
      ...(getStored && { correctReply: echoReferences }),
      terminator,
    },
    count,
    describeCalls: async () => (await import('./description.ts')).calls,
  };
}

export const protocol = createProtocol('lenient');

export const responses = definePlugin({
  name: protocolName,
  options: z.strictObject({
    /**
     * Whether an assistant message in `input` with parts and `type: "message"` must have its `id` and
     * `status`. The interface says so (`strict`), but many clients omit them.
     */
    assistantItems: z.enum(['strict', 'lenient']).default('lenient'),
    /** Keys that seal, instead of `TOLLGATE_DATA_KEY` or the key file in the data folder. */
    dataKey: dataKeySchema.optional(),
    /** Keeps responses for a while, for requests that refer to them. Without it the endpoint is stateless. */
    store: storeOptions.optional(),
  }),
  apply(host, { assistantItems, dataKey, store }) {
    const getRing = useKeyRing(host, protocolName, dataKey);
    tapCompaction(host, getRing, ({ call }) => (call instanceof ResponsesCall ? call.compaction : undefined));
    const check = (input: unknown): void => checkOwnItems(input, { assistantItems, keeps: true });
    const getStored = store && keepResponses(host, store, { getRing, encodeError: encodeRouteError, check });
    const isUsual = assistantItems === 'lenient' && !getStored;
    host.protocols.add(isUsual ? protocol : createProtocol(assistantItems, getStored));
    host.addAddress({ protocol: protocolName, client: 'openai', path: '/v1' });
    host.addExample(
      'curl {url}/v1/responses -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" -d ' +
        `'{"model":"{model}","input":"Hello!"}'`,
    );
  },
});

/** A provider is sent the whole conversation, so it does not know what the request referred to. */
function echoReferences(data: string, _events: readonly CanonicalEvent[], call: ClientCall): string {
  const { previous, conversation } = (call instanceof ResponsesCall && call.expansion) || {};
  if (previous === undefined && conversation === undefined) return data;
  if (call.stream && sliceMember(data, 'response') === undefined) return data;
  const toPath = (name: string): Edit['path'] => (call.stream ? ['response', name] : [name]);
  const edits: Edit[] = [];
  if (previous !== undefined) edits.push({ path: toPath('previous_response_id'), value: previous });
  if (conversation !== undefined) edits.push({ path: toPath('conversation'), value: { id: conversation } });
  return splice(data, edits);
}

export function retarget({ call, model, outputLimit, capabilities }: Retarget): readonly Edit[] {
  const edits: Edit[] = [
    { path: ['model'], value: model },
    { path: ['provider'], value: undefined },
  ];
  if (call instanceof ResponsesCall)
    for (const field of references) if (call.settings[field]) edits.push({ path: [field], value: undefined });
  // OpenAI's path for compaction takes no limit.
  const isLimited = !(
    call instanceof ResponsesCall &&
    call.compaction.ask === 'path' &&
    readFlags(capabilities).compaction
  );
  if (outputLimit !== undefined && isLimited) edits.push({ path: ['max_output_tokens'], value: outputLimit });
  return edits;
}
