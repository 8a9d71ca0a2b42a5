/**
 * What a request asks of the answer: how deeply the model thinks, as its generation expects it, and the
 * format. Anthropic enforces only schemas with closed objects and a few keywords. Other keywords go into the
 * descriptions, for the model to read.
 */
import { isDeepStrictEqual } from 'node:util';
import type { CanonicalRequest, Format, Reasoning } from '../../../core/index.ts';
import { describeFormat, nameSchema, type FormatInWords } from '../../shared/wire-kit/json-mode.ts';
import type { Lose } from '../../shared/wire-kit/losses.ts';
import {
  efforts,
  findNearestEffort,
  findWantedEffort,
  loseReasoning,
} from '../../shared/wire-kit/reasoning-effort.ts';
import { readObjects } from '../../shared/wire-kit/values.ts';
import { isObject, splitNames, type Fields, type Tracked } from '../../shared/wire-kit/vendor-bag.ts';
import { type Encoding, bag } from './encoding.ts';
import * as Wire from './wire.ts';

const canonicalDisplays: ReadonlyMap<unknown, NonNullable<Reasoning['display']>> = new Map([
  ['summarized', 'summary'],
  ['omitted', 'none'],
]);

type Answer = Pick<CanonicalRequest, 'reasoning' | 'format' | 'names'>;

/** `thinking` enables reasoning, `output_config.effort` sets its depth; a client may send only one. */
export function decodeAnswer(body: Tracked<Wire.Request>): Answer {
  const output = body.open('output_config');
  const { names, ...thinking } = decodeThinking(body, output);
  if (output?.seen.format)
    return { ...thinking, names, format: decodeFormat(output.seen.format, () => output.keep('format')) };
  const format = decodeFormat(body.seen[Wire.olderFormat], () => body.keep(Wire.olderFormat));
  return { ...thinking, format, names: format ? { ...names, format: Wire.olderFormat } : names };
}

/** Two fields hold the reasoning. If the client sent only one, losses of both are reported by its name. */
function decodeThinking(
  body: Tracked<Wire.Request>,
  output: Tracked<NonNullable<Wire.Request['output_config']>> | undefined,
): Answer {
  const { seen, keep } = body.open('thinking') ?? {};
  // An effort together with disabled thinking has a meaning only in this protocol.
  if (seen?.type === 'disabled')
    return { reasoning: { effort: 'none' }, names: { 'reasoning.effort': 'thinking' } };
  const effort = output?.seen.effort ?? undefined;
  if (seen && Wire.isKnownThinking(seen)) {
    const display = canonicalDisplays.get(seen.display);
    if (!display) keep?.('display');
    const budget = seen.type === 'enabled' ? seen.budget_tokens : undefined;
    return { reasoning: { effort, budget, display } };
  }
  body.keep('thinking');
  if (effort === undefined) return {};
  return { reasoning: { effort }, ...(seen ? {} : { names: { reasoning: 'output_config.effort' } }) };
}

function decodeFormat(format: Wire.Request['output_format'], keep: () => void): Format | undefined {
  if (!format || !Wire.isSchemaFormat(format)) return void keep();
  const { type: _type, schema, ...rest } = format;
  return { type: 'schema', schema, ...bag.keep(rest) };
}

interface EncodedThinking {
  readonly thinking?: Fields;
  readonly effort?: string | undefined;
}

interface ThinkingPlace {
  readonly limit: number;
  readonly messages: readonly Fields[];
  /** True if the model must call a tool. */
  readonly forced: boolean;
}

/** Anthropic's minimum budget in tokens. */
export const leastBudget = 1024;

/** A budget that leaves room for the answer. */
export function lowerBudget(limit: number): number {
  return Math.max(leastBudget, Math.floor((limit * 3) / 4));
}

const displays = { none: 'omitted', summary: 'summarized', full: 'summarized' } as const;

export function encodeThinking(
  request: CanonicalRequest,
  place: ThinkingPlace,
  encoding: Encoding,
): EncodedThinking {
  const { reasoning } = request;
  if (!reasoning) return {};
  const {
    style,
    canDisable = true,
    efforts: allowed = adaptiveEfforts,
  } = encoding.model.capabilities.reasoning;
  const wanted = findWantedEffort(reasoning);
  const nearest = wanted === undefined ? undefined : findNearestEffort(wanted, allowed);
  if (style === 'none') {
    loseReasoning(reasoning, encoding.lose);
    return {};
  }
  const { effort, budget, display } = reasoning;
  // A client of another protocol that only hides reasoning does not request any.
  if (effort === undefined && budget === undefined && display === 'none') return {};
  if (wanted === 'none' && canDisable) return { thinking: { type: 'disabled' } };
  if (style === 'budget') return encodeBudget(reasoning, place, encoding);
  const reason = nearest === undefined ? 'the model decides itself' : `sent as effort "${nearest}"`;
  if (effort === undefined && budget !== undefined) encoding.lose('reasoning.budget', reason, 'approximated');
  else if (nearest !== wanted)
    encoding.lose(wanted === 'none' ? 'reasoning' : 'reasoning.effort', reason, 'approximated');
  // Newer models hide their reasoning by default.
  const shown = display === undefined ? 'summarized' : displays[display];
  return { thinking: { type: 'adaptive', display: shown }, effort: nearest };
}

const adaptiveEfforts = ['low', 'medium', 'high', 'xhigh', 'max'];

function encodeBudget(
  { effort, budget, display }: Reasoning,
  place: ThinkingPlace,
  { lose }: Encoding,
): EncodedThinking {
  const { limit, messages, forced } = place;
  const loseThinking = (reason: string): EncodedThinking => {
    lose('reasoning', `${reason}: ${unthinking}`, 'model');
    return {};
  };
  if (forced) return loseThinking('thinking is not allowed with a forced tool');
  if (messages.at(-1)?.role === 'assistant')
    return loseThinking('thinking is not allowed if the model continues an answer');
  if (!beginsWithThoughts(messages)) return loseThinking(thoughtless);
  if (limit <= leastBudget)
    return loseThinking(`the output limit leaves no room for ${leastBudget} tokens of thinking`);
  const requested = Math.max(leastBudget, budget !== undefined && budget > 0 ? budget : findBudget(effort));
  const sent = requested < limit ? requested : lowerBudget(limit);
  if (effort !== undefined && !efforts.some(({ name }) => name === effort))
    lose('reasoning.effort', 'unknown effort; sent as the budget of "medium"', 'approximated');
  if (budget !== undefined && sent !== budget)
    lose('reasoning.budget', `sent as ${sent} tokens`, 'approximated');
  else if (sent !== requested && Number.isFinite(requested))
    lose('reasoning.effort', `sent as a budget of ${sent} tokens, below the output limit`, 'approximated');
  return {
    thinking: { type: 'enabled', budget_tokens: sent, display: display && displays[display] },
  };
}

const unthinking = 'the model answers without thinking';
const thoughtless = 'the reasoning that led to the tool calls is missing';

/** Removes thinking from a client's own body if the reasoning at the start of its tool loop was removed. */
export function fitThinking(body: Fields, lose: Lose): Fields {
  const { thinking, ...rest } = body;
  if (!isObject(thinking) || thinking.type !== 'enabled') return body;
  if (beginsWithThoughts(readObjects(body.messages))) return body;
  lose('reasoning', `${thoughtless}: ${unthinking}`, 'model');
  return rest;
}

/** Returns the budget for an effort: that of "medium" if the effort is missing or unknown. */
function findBudget(effort = 'medium'): number {
  return efforts.find(({ name }) => name === effort)?.budget ?? findBudget();
}

const thoughts: ReadonlySet<unknown> = new Set(['thinking', 'redacted_thinking']);

/** In a loop of tool calls, Anthropic requires the assistant's last message to start with its reasoning. */
export function beginsWithThoughts(messages: readonly Fields[]): boolean {
  const last: unknown = messages.at(-1)?.content;
  const inLoop = Array.isArray(last) && last.some((block: Fields) => block.type === 'tool_result');
  if (!inLoop) return true;
  const answered: unknown = messages.findLast(({ role }) => role === 'assistant')?.content;
  const first: Fields | undefined = Array.isArray(answered) ? answered[0] : undefined;
  return thoughts.has(first?.type);
}

/** Returns the field, or an instruction in its place. */
export function encodeFormat(
  { format }: CanonicalRequest,
  { model, lose }: Encoding,
): FormatInWords & { readonly format?: Fields } {
  if (!format || format.type === 'text') return {};
  if (format.type === 'json' || format.schema === undefined) {
    lose('format', 'messages has no JSON mode; an instruction asks for it', 'approximated');
    return describeFormat({ type: 'json' });
  }
  if (!model.capabilities.structuredOutput) {
    lose('format', 'the model has no structured output; an instruction asks for it', 'approximated');
    return describeFormat(format);
  }
  const schema = isObject(format.schema) ? nameSchema(format, format.schema) : format.schema;
  const type = 'json_schema';
  return { format: { ...bag.getFields(format), type, schema: tightenSchema(schema, 'format', lose) } };
}

/** Returns the schema as Anthropic enforces it. Reports a loss if it differs from the client's. */
export function tightenSchema(schema: unknown, path: string, lose: Lose): unknown {
  const fitted = fitSchema(schema);
  const { $schema: _, ...original } = isObject(schema) ? schema : {};
  if (isObject(schema) && !isDeepStrictEqual(fitted, original))
    lose(
      `${path}.schema`,
      'objects are closed, and rules that the model does not enforce are sent in descriptions',
      'approximated',
    );
  return fitted;
}

const formats: ReadonlySet<unknown> = splitNames(`
  date-time time date duration email hostname uri ipv4 ipv6 uuid
`);
const kept = splitNames(`
  type description title properties required additionalProperties items enum const anyOf allOf $ref $defs
  definitions default
`);

function isKept([name, value]: [string, unknown]): boolean {
  if (name === 'format') return formats.has(value);
  if (name === 'minItems') return value === 0 || value === 1;
  return kept.has(name);
}

/** Closes objects, turns `oneOf` into `anyOf`, and moves other keywords into the description. */
function fitSchema(schema: unknown): unknown {
  if (!isObject(schema)) return schema;
  const { oneOf, $schema: _, ...rest } = schema;
  const entries = Object.entries(oneOf === undefined ? rest : { anyOf: oneOf, ...rest });
  const described = entries
    .filter((entry) => !isKept(entry))
    .map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  const fitted = Object.fromEntries(
    entries.filter(isKept).map(([name, value]) => [name, fitMember(name, value)]),
  );
  const closed =
    fitted.type === 'object' || isObject(fitted.properties)
      ? { ...fitted, additionalProperties: false }
      : fitted;
  if (described.length === 0) return closed;
  return {
    ...closed,
    description: [fitted.description, `{${described.join(', ')}}`].filter(Boolean).join('\n\n'),
  };
}

const namedSchemas: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions']);
const listedSchemas: ReadonlySet<string> = new Set(['anyOf', 'allOf']);

function fitMember(name: string, value: unknown): unknown {
  if (namedSchemas.has(name) && isObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, schema]) => [key, fitSchema(schema)]));
  }
  if (listedSchemas.has(name) && Array.isArray(value)) return value.map(fitSchema);
  return name === 'items' ? fitSchema(value) : value;
}
