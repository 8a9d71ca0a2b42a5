/**
 * What a reply says of itself, in both directions: token counts, how it ended, and the response
 * object around the output. It repeats every setting of the request, with OpenAI's default if the client
 * omitted it.
 */
import {
  type Annotation,
  toCount,
  type Usage,
  type FinishReason,
  type EventOf,
  type ReplyContext,
} from '../../../core/index.ts';
import { decodeCacheWrites, sumCacheWrites } from '../../shared/wire-kit/cache-writes.ts';
import { loseForeignFields } from '../../shared/wire-kit/losses.ts';
import { readObjects, readString, readObject, keepKnown, readList } from '../../shared/wire-kit/values.ts';
import { type Fields, isObject } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName } from './encoding.ts';
import { readConversation } from './expansion.ts';

/** What one search of Perplexity found, in the order in which its answers count them. */
export function decodeSources({ results }: Fields): Annotation[] {
  return readObjects(results).map(({ url, title }) => ({
    kind: 'url',
    url: readString(url),
    title: readString(title),
  }));
}

function countOutput(wire: Fields): number | undefined {
  const output = toCount(wire.output_tokens);
  const input = toCount(wire.input_tokens);
  const total = toCount(wire.total_tokens);
  return output === undefined || input === undefined || total === undefined
    ? output
    : Math.max(output, total - input);
}

function isSearch({ type, action }: Fields): boolean {
  if (type === 'search_results') return true;
  return type === 'web_search_call' && (readObject(action).type ?? 'search') === 'search';
}

/** Counts search items if there is no sum. OpenAI charges for searches, not for opened pages. */
function countSearchItems(output: unknown): number | undefined {
  return readObjects(output).filter(isSearch).length || undefined;
}

/** Perplexity reports the searches by the name of its tool, and has two names for it. */
function countInvocations({ tool_calls_details: details }: Fields): number | undefined {
  const { search_web: first, web_search: second } = readObject(details);
  return toCount(readObject(first ?? second).invocation);
}

function readContainerId(item: Fields): unknown {
  if (item.type === 'code_interpreter_call') return item.container_id;
  return item.type === 'shell_call' ? readObject(item.environment).container_id : undefined;
}

/** Counts the containers that ran code, except those the request names, which were charged before. */
function countContainers({ output, tools }: Fields): number | undefined {
  const named = new Set(
    readObjects(tools).map((tool) => tool.container ?? readObject(tool.environment).container_id),
  );
  const used = new Set(readObjects(output).flatMap((item) => readContainerId(item) || []));
  return used.difference(named).size || undefined;
}

/** A file search is charged per call, whatever the number of queries. xAI reports the sum. */
function countFileSearches({ output }: Fields, usage: Fields): number | undefined {
  const summed = toCount(readObject(usage.server_side_tool_usage_details).file_search_calls);
  return (
    (summed ?? readObjects(output).filter(({ type }) => type === 'file_search_call').length) || undefined
  );
}

/** OpenAI reports the sum next to the usage. xAI reports it inside, and counts searches of X separately. */
function countSearches(response: Fields, usage: Fields): number | undefined {
  const { web_search_calls: web, x_search_calls: posts } = readObject(usage.server_side_tool_usage_details);
  const summed =
    toCount(readObject(readObject(response.tool_usage).web_search).num_requests) ??
    toCount(web) ??
    countInvocations(usage);
  const own = toCount(posts) ?? 0;
  return summed === undefined && own === 0 ? countSearchItems(response.output) : (summed ?? 0) + own;
}

function addCounts(first: number | undefined, second: number | undefined): number | undefined {
  return second ? (first ?? 0) + second : first;
}

/** Reads the usage of the image tool: another model, whose tokens are not in the called model's usage. */
function readImageToolUsage(response: Fields): Usage {
  const wire = readObject(readObject(response.tool_usage).image_gen);
  const output = toCount(wire.output_tokens);
  return {
    input: toCount(wire.input_tokens),
    cacheRead: toCount(wire.cached_tokens),
    inputImage: toCount(readObject(wire.input_tokens_details).image_tokens) || undefined,
    output,
    outputImage: (toCount(readObject(wire.output_tokens_details).image_tokens) ?? output) || undefined,
  };
}

/** `response` is a complete response object. Returns undefined if it holds no counts. */
export function decodeUsage(response: Fields): Usage | undefined {
  const wire = readObject(response.usage);
  const input = readObject(wire.input_tokens_details);
  const imageTool = readImageToolUsage(response);
  return keepKnown({
    input: addCounts(toCount(wire.input_tokens), imageTool.input),
    // Perplexity has Anthropic's names for what it read and wrote.
    cacheRead: addCounts(
      toCount(input.cached_tokens) ?? toCount(input.cache_read_input_tokens),
      imageTool.cacheRead,
    ),
    ...decodeCacheWrites(input),
    inputImage: imageTool.inputImage,
    output: addCounts(countOutput(wire), imageTool.output),
    outputImage: imageTool.outputImage,
    reasoning: toCount(readObject(wire.output_tokens_details).reasoning_tokens),
    webSearches: countSearches(response, wire),
    fileSearches: countFileSearches(response, wire),
    containers: countContainers(response),
  });
}

/** Unknown counts become zero: clients require all of them, and Codex rejects a response without one. */
function encodeUsage(usage: Usage): Fields {
  const { input = 0, output = 0, cacheRead = 0, reasoning = 0 } = usage;
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cacheRead, cache_write_tokens: sumCacheWrites(usage) ?? 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  };
}

type Reason = EventOf<'finish'>['reason'];

const finishReasons: ReadonlyMap<string, FinishReason> = new Map([
  ['max_output_tokens', 'length'],
  ['content_filter', 'content-filter'],
]);

/** Returns undefined if the response has not ended, or has failed. */
export function decodeFinish(
  response: Fields,
  { calls, refusal }: { readonly calls: boolean; readonly refusal: boolean },
): Reason | undefined {
  const { status, incomplete_details: details } = response;
  const otherwise = refusal ? 'refusal' : 'stop';
  // Perplexity's own word for a response that waits for the results of calls.
  if (status === 'completed' || status === 'requires_action')
    return { unified: calls ? 'tool-calls' : otherwise, raw: status };
  if (status !== 'incomplete') return undefined;
  const reason = isObject(details) && typeof details.reason === 'string' ? details.reason : status;
  return { unified: finishReasons.get(reason) ?? 'other', raw: reason };
}

export interface Ending {
  readonly status: 'queued' | 'in_progress' | 'completed' | 'incomplete' | 'failed';
  readonly incomplete_details: { readonly reason: string } | null;
  readonly error: { readonly code: string; readonly message: string } | null;
}

/** Why a response is incomplete. There is no closer word for a paused turn, and none for an unknown end. */
const incomplete: Partial<Record<FinishReason, string>> = {
  length: 'max_output_tokens',
  'context-length': 'max_output_tokens',
  pause: 'max_output_tokens',
  other: 'max_output_tokens',
  'content-filter': 'content_filter',
  refusal: 'content_filter',
};

/** `hasRefusal`: the reply holds a refusal as text. */
export function encodeFinish({ unified, raw }: Reason, hasRefusal: boolean): Ending {
  if (unified === 'error') {
    const message = `The provider ended the reply early: "${raw}".`;
    return { status: 'failed', incomplete_details: null, error: { code: 'server_error', message } };
  }
  const reason = unified === 'refusal' && hasRefusal ? undefined : incomplete[unified];
  return reason === undefined
    ? { status: 'completed', incomplete_details: null, error: null }
    : { status: 'incomplete', incomplete_details: { reason }, error: null };
}

/** Settings that a response repeats, with OpenAI's default. */
const settings: readonly (readonly [name: string, fallback: unknown])[] = [
  ['access_programs', null],
  ['background', false],
  ['frequency_penalty', 0],
  ['instructions', null],
  ['max_output_tokens', null],
  ['max_tool_calls', null],
  ['metadata', {}],
  ['parallel_tool_calls', true],
  ['presence_penalty', 0],
  ['previous_response_id', null],
  ['prompt_cache_key', null],
  ['prompt_cache_retention', null],
  ['safety_identifier', null],
  ['service_tier', 'auto'],
  ['store', true],
  ['temperature', 1],
  ['tool_choice', 'auto'],
  ['top_logprobs', 0],
  ['top_p', 1],
  ['truncation', 'disabled'],
];

/** Repeats a tool as OpenAI does: optional fields become null. */
function echoTool(tool: unknown): unknown {
  if (!isObject(tool)) return tool;
  if (Array.isArray(tool.tools)) return { ...tool, tools: tool.tools.map(echoTool) };
  if (tool.type !== 'function') return tool;
  const { description = null, parameters = null, strict = null } = tool;
  return { ...tool, description, parameters, strict };
}

/** The usage of OpenAI's tools. The image tool is listed even if it was not used. */
function encodeToolUsage(searches: number): Fields {
  const tokens = { image_tokens: 0, text_tokens: 0 };
  const images = {
    input_tokens: 0,
    input_tokens_details: tokens,
    output_tokens: 0,
    output_tokens_details: tokens,
    total_tokens: 0,
  };
  return { image_gen: images, web_search: { num_requests: searches } };
}

/** Makes an id: prefix, response id and (for an item) the index. */
export function makeId(prefix: string, reply: string, index?: number): string {
  const tail = index === undefined ? '' : index.toString(16).padStart(4, '0');
  return `${prefix}_${reply.replaceAll(/[^A-Za-z0-9]/g, '')}${tail}`;
}

/** OpenAI refuses an id whose prefix is not that of the item's type. */
const prefixes: ReadonlyMap<unknown, string> = new Map([
  ['function_call', 'fc'],
  ['function_call_output', 'fco'],
  ['custom_tool_call', 'ctc'],
  ['custom_tool_call_output', 'ctco'],
  ['reasoning', 'rs'],
  ['web_search_call', 'ws'],
  ['image_generation_call', 'ig'],
  ['code_interpreter_call', 'ci'],
  ['local_shell_call', 'lsh'],
  ['compaction', 'cmp'],
]);

/** Makes the id of an item that its client sent without one. */
export function makeItemId(type: unknown, owner: string, index: number): string {
  return makeId(prefixes.get(type) ?? 'msg', owner, index);
}

/** Whether the gateway made an item's id. OpenAI's ids are longer. */
export function isGatewayId(id: string): boolean {
  return /^[a-z]+_[0-9a-f]{32}[0-9a-f]{4}$/.test(id);
}

export class ResponseObject {
  readonly #head: Fields;
  readonly #settings: Fields;
  readonly #context: ReplyContext;
  #vendorFields: Fields = {};

  constructor(context: ReplyContext) {
    const { id, model, created, call } = context;
    this.#context = context;
    const sent = readObject('settings' in call ? call.settings : undefined);
    this.#head = { id: makeId('resp', id), object: 'response', created_at: created, model };
    this.#settings = {
      ...Object.fromEntries(settings.map(([name, fallback]) => [name, sent[name] ?? fallback])),
      ...(typeof sent.user === 'string' ? { user: sent.user } : {}),
      tools: readList(sent.tools).map(echoTool),
      reasoning: { effort: null, summary: null, ...readObject(sent.reasoning) },
      text: { format: { type: 'text' }, ...readObject(sent.text) },
      ...(sent.conversation ? { conversation: { id: readConversation(sent.conversation) } } : {}),
    };
  }

  /** Copies the fields that a provider of this protocol sends with its response: at its start and end. */
  addFields(event: EventOf<'response-start' | 'finish'>): void {
    this.#vendorFields = { ...this.#vendorFields, ...bag.getFields(event) };
    loseForeignFields(this.#context, event, protocolName);
  }

  encode({ status, incomplete_details, error }: Ending, output: readonly Fields[], usage?: Usage): Fields {
    const { created, readClock = () => created } = this.#context;
    const searches = usage?.webSearches;
    return {
      ...this.#head,
      status,
      completed_at: status === 'completed' ? Math.max(readClock(), created) : null,
      ...this.#settings,
      ...this.#vendorFields,
      error,
      incomplete_details,
      output,
      usage: usage ? encodeUsage(usage) : null,
      ...(searches === undefined ? {} : { tool_usage: encodeToolUsage(searches) }),
    };
  }
}
