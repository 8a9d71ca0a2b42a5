/**
 * Writes the response object around the output. It repeats every setting of the request, with OpenAI's
 * default if the client omitted it. The gateway stores nothing, whatever the value of `store`.
 */
import type { ReplyContext, Usage, EventOf } from '../../../core/index.ts';
import { loseForeignFields } from '../../shared/wire-kit/losses.ts';
import { readList, readObject } from '../../shared/wire-kit/values.ts';
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName } from './bag.ts';
import type { Ending } from './finish.ts';
import { encodeUsage } from './usage.ts';

type Start = EventOf<'response-start'>;

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
    };
  }

  /** Copies the fields of the provider's response, if the provider uses this protocol. */
  addStart(start: Start | undefined): void {
    this.#vendorFields = bag.getFields(start);
    if (start) loseForeignFields(this.#context, start, protocolName);
  }

  /** Copies the fields that the provider sends only at the end. */
  addFinish({ vendor }: EventOf<'finish'>): void {
    this.#vendorFields = { ...this.#vendorFields, ...bag.getFields({ vendor }) };
  }

  encodeRunning(): Fields {
    return this.#write('in_progress', { incomplete_details: null, error: null }, [], null);
  }

  encodeEnded(ending: Ending, output: readonly Fields[], usage: Usage): Fields {
    const { webSearches } = usage;
    const tools = webSearches === undefined ? {} : { tool_usage: encodeToolUsage(webSearches) };
    return { ...this.#write(ending.status, ending, output, encodeUsage(usage)), ...tools };
  }

  #write(
    status: string,
    { incomplete_details, error }: Pick<Ending, 'incomplete_details' | 'error'>,
    output: readonly Fields[],
    usage: Fields | null,
  ): Fields {
    const { created, readClock = () => created } = this.#context;
    const completed = status === 'completed' ? Math.max(readClock(), created) : null;
    return {
      ...this.#head,
      status,
      completed_at: completed,
      ...this.#settings,
      ...this.#vendorFields,
      error,
      incomplete_details,
      output,
      usage,
    };
  }
}
