/**
 * The response object around the output: it says the settings of the call again, each of them, with the vendor's
 * defaults where the client left them out. Nothing is kept here, whatever `store` says.
 */
import type { CanonicalEvent, ClientCall, ReplyContext, Usage } from '../../../core/index.ts';
import { loseForeignStart } from '../../shared/wire-kit/losses.ts';
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName } from './bag.ts';
import type { Ending } from './finish.ts';
import { encodeUsage } from './usage.ts';

type Start = Extract<CanonicalEvent, { type: 'response-start' }>;

/** Settings that are said again as they were sent; what the vendor says where they were not. */
const settings: readonly (readonly [name: string, otherwise: unknown])[] = [
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

function readSettings(call: ClientCall): Fields {
  return 'settings' in call && isObject(call.settings) ? call.settings : {};
}

function toObject(value: unknown): Fields {
  return isObject(value) ? value : {};
}

/** A tool as a response says it again: what was not set is null. */
function echoTool(tool: unknown): unknown {
  if (!isObject(tool)) return tool;
  if (Array.isArray(tool.tools)) return { ...tool, tools: tool.tools.map(echoTool) };
  return tool.type === 'function'
    ? {
        ...tool,
        description: tool.description ?? null,
        parameters: tool.parameters ?? null,
        strict: tool.strict ?? null,
      }
    : tool;
}

function echoTools({ tools }: Fields): unknown[] {
  return Array.isArray(tools) ? tools.map(echoTool) : [];
}

/** What the vendor's tools used: the one that paints stands there though nothing was painted. */
function encodeToolUsage(searches: number): Fields {
  const tokens = { image_tokens: 0, text_tokens: 0 };
  const painted = {
    input_tokens: 0,
    input_tokens_details: tokens,
    output_tokens: 0,
    output_tokens_details: tokens,
    total_tokens: 0,
  };
  return { image_gen: painted, web_search: { num_requests: searches } };
}

/** An id of this wire: its prefix, what tells this reply from others, and which thing of the reply it is. */
export function makeId(prefix: string, reply: string, index?: number): string {
  const tail = index === undefined ? '' : index.toString(16).padStart(4, '0');
  return `${prefix}_${reply.replaceAll(/[^A-Za-z0-9]/g, '')}${tail}`;
}

/** Whether an id of an item was made here: a vendor's are longer. */
export function isGatewayId(id: string): boolean {
  return /^[a-z]+_[0-9a-f]{32}[0-9a-f]{4}$/.test(id);
}

export class ResponseObject {
  readonly #head: Fields;
  readonly #settings: Fields;
  readonly #context: ReplyContext;
  #vendors: Fields = {};

  constructor(context: ReplyContext) {
    const { id, model, created, call } = context;
    this.#context = context;
    const said = readSettings(call);
    this.#head = { id: makeId('resp', id), object: 'response', created_at: created, model };
    this.#settings = {
      ...Object.fromEntries(settings.map(([name, otherwise]) => [name, said[name] ?? otherwise])),
      ...(typeof said.user === 'string' ? { user: said.user } : {}),
      tools: echoTools(said),
      reasoning: { effort: null, summary: null, ...toObject(said.reasoning) },
      text: { format: { type: 'text' }, ...toObject(said.text) },
    };
  }

  /** Takes over what the vendor said of the response, where it spoke this protocol. */
  started(start: Start | undefined): void {
    this.#vendors = bag.fields(start);
    if (start) loseForeignStart(this.#context, start, protocolName);
  }

  /** What the vendor says of the response at its end alone. */
  finished({ vendor }: Extract<CanonicalEvent, { type: 'finish' }>): void {
    this.#vendors = { ...this.#vendors, ...bag.fields({ vendor }) };
  }

  running(): Fields {
    return this.#write('in_progress', { incomplete_details: null, error: null }, [], null);
  }

  ended(ending: Ending, output: readonly Fields[], usage: Usage): Fields {
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
    const { created, now = () => created } = this.#context;
    const completed = status === 'completed' ? Math.max(now(), created) : null;
    return {
      ...this.#head,
      status,
      completed_at: completed,
      ...this.#settings,
      ...this.#vendors,
      error,
      incomplete_details,
      output,
      usage,
    };
  }
}
