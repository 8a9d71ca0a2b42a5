/**
 * A client's request to the canonical form: one turn for each message, in order. What has no canonical name and
 * how things were spelt is kept beside them, so that the encoder of this protocol can restore the request.
 */
import type { CanonicalRequest, Tool } from '../../../core/index.ts';
import { oneOfKnown } from '../../shared/wire-kit/open-values.ts';
import { leftover, nested, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName } from './bag.ts';
import { decodeMessages } from './decode-messages.ts';
import { hasForeignMarks, isForeign, withToolMark } from './foreign-marks.ts';
import {
  isKnownFormat,
  isNamedChoice,
  isOwnTool,
  type WireFormat,
  type WireNamedChoice,
  type WireRequest,
  type WireTool,
  type WireToolReference,
} from './wire.ts';

type ToolChoice = NonNullable<CanonicalRequest['toolChoice']>;
type Format = NonNullable<CanonicalRequest['format']>;

/** Fields that are read into a canonical one, whole: whatever they held stands there. */
const readWhole = new Set([
  'model',
  'messages',
  'stream',
  'tools',
  'parallel_tool_calls',
  'max_tokens',
  'max_completion_tokens',
  'n',
  'temperature',
  'top_p',
  'top_k',
  'frequency_penalty',
  'presence_penalty',
  'seed',
  'stop',
  'logprobs',
  'top_logprobs',
  'verbosity',
  'reasoning_effort',
  'modalities',
  'user',
  'metadata',
  'service_tier',
  'prompt_cache_key',
  'web_search_options',
  // Read in part, below; the rest of them is kept with the others.
  'stream_options',
  'tool_choice',
  'response_format',
  'functions',
  'function_call',
  'reasoning',
  'safety_identifier',
]);

export function decodeRequest(wire: WireRequest, text: string): CanonicalRequest {
  const reasoning = decodeReasoning(wire);
  const user = wire.user ?? wire.safety_identifier ?? undefined;
  const calling = decodeCalling(wire);
  const turns = decodeMessages(wire.messages);
  // How to route is the gateway's own business, and told in the preferences.
  const { provider: _preferences, ...vendorsOwn } = wire;
  return {
    model: wire.model,
    stream: wire.stream ?? false,
    turns,
    tools: calling.tools,
    toolChoice: calling.choice,
    parallelToolCalls: wire.parallel_tool_calls ?? undefined,
    outputLimit: leastLimit(wire),
    candidates: wire.n ?? undefined,
    temperature: wire.temperature ?? undefined,
    topP: wire.top_p ?? undefined,
    topK: isEvery(wire.top_k) ? undefined : (wire.top_k ?? undefined),
    frequencyPenalty: wire.frequency_penalty ?? undefined,
    presencePenalty: wire.presence_penalty ?? undefined,
    seed: exactSeed(wire.seed, text),
    stop: typeof wire.stop === 'string' ? [wire.stop] : (wire.stop ?? undefined),
    logprobs: wire.logprobs ? { top: wire.top_logprobs ?? undefined } : undefined,
    format: decodeFormat(wire.response_format),
    verbosity: wire.verbosity ?? undefined,
    reasoning: reasoning.value,
    modalities: wire.modalities ?? undefined,
    user,
    metadata: wire.metadata ?? undefined,
    serviceTier: wire.service_tier ?? undefined,
    cacheKey: wire.prompt_cache_key ?? undefined,
    names: namesIn(wire, hasForeignMarks(turns), calling.tools?.some(isForeign)),
    ...bag.keep({ ...leftover(vendorsOwn, readWhole), ...partsLeft(wire), ...reasoning.rest }, [
      'read',
      ...spelling(wire),
      ...calling.form,
      ...reasoning.form,
    ]),
  };
}

function isEvery(topK: WireRequest['top_k']): boolean {
  return topK === -1;
}

/** Where both names of the limit are used, neither may be passed. */
export function leastLimit({
  max_tokens: former,
  max_completion_tokens: current,
}: WireRequest): number | undefined {
  return former && current ? Math.min(former, current) : (former ?? current ?? undefined);
}

/** Names of fields other than those this protocol uses today. */
function namesIn(
  wire: WireRequest,
  marked: boolean,
  markedTools = false,
): Record<string, string> | undefined {
  const { reasoning } = wire;
  const names = {
    ...(wire.max_tokens && !wire.max_completion_tokens ? { outputLimit: 'max_tokens' } : {}),
    ...(wire.functions && !wire.tools
      ? { '.schema': 'parameters', '.strict': 'strict', '.arguments': 'arguments' }
      : {}),
    ...(wire.function_call && !wire.tool_choice ? { toolChoice: 'function_call' } : {}),
    ...(reasoning && !wire.reasoning_effort
      ? {
          reasoning: 'reasoning',
          'reasoning.effort': reasoning.effort ? 'reasoning.effort' : 'reasoning.enabled',
        }
      : {}),
    ...(typeof wire.user !== 'string' && typeof wire.safety_identifier === 'string'
      ? { user: 'safety_identifier' }
      : {}),
    ...(marked ? { '.cache': 'cache_control' } : {}),
    ...(wire.response_format?.type === 'json_object' ? { 'format.': 'response_format' } : {}),
    ...(markedTools ? { 'tools.cache': 'cache_control' } : {}),
  };
  return Object.keys(names).length > 0 ? names : undefined;
}

/** Spellings that say no more than others do, and are restored. */
function spelling(wire: WireRequest): string[] {
  const form: string[] = [];
  if (wire.stream === false) form.push('stream-false');
  if (typeof wire.stop === 'string') form.push('stop-string');
  if (wire.logprobs === false) form.push('logprobs-false');
  if (wire.top_logprobs === 0 && !wire.logprobs) form.push('top-logprobs-zero');
  if (typeof wire.user !== 'string' && typeof wire.safety_identifier === 'string')
    form.push('safety-identifier');
  return form;
}

const includeUsage = new Set(['include_usage']);
const formatFields = {
  text: new Set(['type']),
  json_object: new Set(['type', 'schema']),
  json_schema: new Set(['type', 'json_schema']),
};

/** Of the fields that are read in part, the rest. */
function partsLeft(wire: WireRequest): Fields {
  return {
    ...nested('stream_options', leftover(wire.stream_options ?? {}, includeUsage)),
    ...formatLeft(wire.response_format),
    ...choiceLeft(wire),
    ...(isEvery(wire.top_k) ? { top_k: wire.top_k } : {}),
    ...(typeof wire.user === 'string' && typeof wire.safety_identifier === 'string'
      ? { safety_identifier: wire.safety_identifier }
      : {}),
    ...(wire.tools && wire.functions ? { functions: wire.functions } : {}),
    ...(wire.tool_choice && wire.function_call ? { function_call: wire.function_call } : {}),
  };
}

function formatLeft(format: WireRequest['response_format']): Fields {
  if (!format) return {};
  return isKnownFormat(format)
    ? nested('response_format', leftover(format, formatFields[format.type]))
    : { response_format: format };
}

/** A choice that only its vendor knows. */
function choiceLeft({ tool_choice: choice, function_call: former }: WireRequest): Fields {
  const known =
    !choice || (typeof choice === 'string' ? modeOf(choice) !== undefined : isNamedChoice(choice));
  const formerKnown = typeof former !== 'string' || modeOf(former) !== undefined;
  return { ...(known ? {} : { tool_choice: choice }), ...(formerKnown ? {} : { function_call: former }) };
}

interface Calling {
  readonly tools: Tool[] | undefined;
  readonly choice: ToolChoice | undefined;
  readonly form: readonly string[];
}

/** Tools in either generation: `functions` and `function_call` are the former names of `tools` and `tool_choice`. */
function decodeCalling(wire: WireRequest): Calling {
  const form: string[] = [];
  let tools = wire.tools?.map((tool, index): Tool =>
    withToolMark({ ...decodeTool(tool), at: `tools[${index}]` }),
  );
  if (!wire.tools && wire.functions) {
    form.push('functions');
    tools = wire.functions.map((definition, index): Tool => ({
      ...decodeTool({ type: 'function', function: definition }),
      at: `functions[${index}]`,
    }));
  }
  if (wire.web_search_options) {
    if (!tools) form.push('no-tools');
    const at = 'web_search_options';
    tools = [
      ...(tools ?? []),
      {
        type: 'hosted',
        protocol: protocolName,
        kind: 'web-search',
        value: wire[at],
        at,
        ...bag.keep({}, ['options']),
      },
    ];
  }
  const former = wire.function_call;
  if (wire.tool_choice || !former) return { tools, choice: decodeChoice(wire.tool_choice), form };
  form.push('function-call');
  if (typeof former === 'string') {
    const mode = modeOf(former);
    return { tools, choice: mode && { mode }, form: mode ? form : form.slice(0, -1) };
  }
  return {
    tools,
    choice: {
      mode: 'one',
      names: [former.name],
      ...bag.keep(nested('function', leftover(former, namedOnly))),
    },
    form,
  };
}

const functionFields = new Set(['name', 'description', 'parameters', 'strict']);
const customFields = new Set(['name', 'description', 'format']);

/** What is left of an object and of the one inside it that bears the type's name. */
function leftoverInside(outer: object, name: string, inner: object, innerKnown: ReadonlySet<string>): Fields {
  return { ...leftover(outer, new Set(['type', name])), ...nested(name, leftover(inner, innerKnown)) };
}

export function isSearch({ type }: WireTool): boolean {
  return type?.includes('web_search') ?? false;
}

function decodeTool(tool: WireTool): Tool {
  if (!isOwnTool(tool))
    return {
      type: 'hosted',
      protocol: protocolName,
      kind: isSearch(tool) ? 'web-search' : 'other',
      value: tool,
    };
  if (tool.type === 'custom') {
    const { name, description, format } = tool.custom;
    const sides = bag.keep(leftoverInside(tool, 'custom', tool.custom, customFields));
    return {
      type: 'custom',
      name,
      description: description ?? undefined,
      format: format ?? undefined,
      ...sides,
    };
  }
  const { name, description, parameters, strict } = tool.function;
  return {
    type: 'function',
    name,
    description: description ?? undefined,
    schema: parameters ?? undefined,
    strict: strict ?? undefined,
    ...bag.keep(leftoverInside(tool, 'function', tool.function, functionFields)),
  };
}

const namedOnly = new Set(['name']);
const allowedFields = new Set(['mode', 'tools']);

const modes = ['none', 'auto', 'required'] as const;

/** Mistral's word is "any" where a tool has to be called. */
function modeOf(word: string): (typeof modes)[number] | undefined {
  return word === 'any' ? 'required' : oneOfKnown(word, modes);
}

/** Undefined as well for a choice that only its vendor knows: that stays as it is, among the vendor's fields. */
function decodeChoice(choice: WireRequest['tool_choice']): ToolChoice | undefined {
  if (!choice) return undefined;
  if (typeof choice !== 'string') return isNamedChoice(choice) ? decodeNamed(choice) : undefined;
  const mode = modeOf(choice);
  return mode && { mode };
}

function decodeNamed(choice: WireNamedChoice): ToolChoice {
  if (choice.type !== 'allowed_tools') {
    const inner = choice.type === 'function' ? choice.function : choice.custom;
    return {
      mode: 'one',
      names: [inner.name],
      ...bag.keep(leftoverInside(choice, choice.type, inner, namedOnly)),
    };
  }
  const { mode, tools } = choice.allowed_tools;
  const rest = leftoverInside(choice, 'allowed_tools', choice.allowed_tools, allowedFields);
  return {
    mode: 'subset',
    names: tools.flatMap(referredName),
    required: mode === 'required',
    ...bag.keep(rest),
  };
}

type AnyReference = Extract<WireNamedChoice, { type: 'allowed_tools' }>['allowed_tools']['tools'][number];

function isReference(reference: AnyReference): reference is WireToolReference {
  return reference.type === 'function' || reference.type === 'custom';
}

export function referredName(reference: AnyReference): string[] {
  if (!isReference(reference)) return [];
  return [reference.type === 'function' ? reference.function.name : reference.custom.name];
}

/** How a schema is written right beside the word for any JSON. */
export const bareSchema = 'bare-schema';
const schemaFields = new Set(['name', 'description', 'schema', 'strict']);

function decodeFormat(format: WireRequest['response_format']): Format | undefined {
  return format && isKnownFormat(format) ? decodeKnownFormat(format) : undefined;
}

function decodeKnownFormat(format: WireFormat): Format {
  if (format.type === 'text') return { type: 'text' };
  if (format.type === 'json_object')
    return format.schema
      ? { type: 'schema', schema: format.schema, ...bag.keep({}, [bareSchema]) }
      : { type: 'json' };
  const { name, description, schema, strict } = format.json_schema;
  return {
    type: 'schema',
    name,
    description: description ?? undefined,
    schema: schema ?? undefined,
    strict: strict ?? undefined,
    ...bag.keep(leftover(format.json_schema, schemaFields)),
  };
}

const reasoningFields = new Set(['effort', 'max_tokens', 'exclude', 'enabled']);

interface ReadReasoning {
  readonly value: CanonicalRequest['reasoning'];
  readonly rest: Fields;
  readonly form: readonly string[];
}

/** The vendor's own field, or OpenRouter's object where that field is not used. */
export function decodeReasoning({ reasoning_effort: effort, reasoning }: WireRequest): ReadReasoning {
  if (!reasoning) return { value: effort ? { effort } : undefined, rest: {}, form: [] };
  if (effort) return { value: { effort }, rest: { reasoning }, form: [] };
  const { exclude, enabled } = reasoning;
  const budget = reasoning.max_tokens ?? undefined;
  // Reasoning that is only switched on is of the middle kind there.
  const switched = enabled === false ? 'none' : enabled && budget === undefined ? 'medium' : undefined;
  const value: CanonicalRequest['reasoning'] = {
    effort: reasoning.effort ?? switched,
    budget,
    display: exclude ? 'none' : undefined,
  };
  const form = ['reasoning-object'];
  if (!reasoning.effort) form.push('no-effort');
  if (exclude === false) form.push('exclude-false');
  if (typeof enabled === 'boolean') form.push(`enabled-${enabled}`);
  return { value, rest: nested('reasoning', leftover(reasoning, reasoningFields)), form };
}

/**
 * A seed may be larger than a double holds exactly; its digits are then looked up in the text. Only the seed of
 * the outermost object counts: tools and metadata may use the word as well.
 */
function exactSeed(seed: number | null | undefined, text: string): number | string | undefined {
  if (typeof seed !== 'number') return undefined;
  if (Number.isSafeInteger(seed)) return seed;
  const digits = new Map<unknown, string>();
  const root: unknown = JSON.parse(
    text,
    function (this: unknown, key: string, value: unknown, context?: { source?: string }) {
      if (key === 'seed' && context?.source !== undefined) digits.set(this, context.source);
      return value;
    },
  );
  return digits.get(root) ?? seed;
}
