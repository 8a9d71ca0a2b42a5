/**
 * Reasoning and the format of an answer in both directions.
 */
import type { CanonicalRequest, Format, Model, Reasoning } from '../../../core/index.ts';
import { describeFormat, nameSchema, type FormatInWords } from '../../shared/wire-kit/json-mode.ts';
import {
  efforts,
  findNearestEffort,
  findWantedEffort,
  loseReasoning,
} from '../../shared/wire-kit/reasoning-effort.ts';
import type { Fields, Tracked } from '../../shared/wire-kit/vendor-bag.ts';
import type { Encoding } from './encoding.ts';
import { fitSchema, readOpenApi } from './schema.ts';
import type * as Wire from './wire.ts';

/** SDKs write the level in upper case, the documentation in lower case. */
export function decodeThinking({ open }: Tracked<Wire.Generation>): Reasoning | undefined {
  const config = open('thinkingConfig');
  if (!config) return undefined;
  const { includeThoughts: shown, thinkingBudget: budget, thinkingLevel: level } = config.seen;
  const effort = level && level !== 'THINKING_LEVEL_UNSPECIFIED' ? level.toLowerCase() : undefined;
  const reasoning = {
    ...(effort === undefined ? {} : { effort }),
    ...(typeof budget === 'number' ? { budget } : {}),
    ...(typeof shown === 'boolean' ? { display: shown ? ('summary' as const) : ('none' as const) } : {}),
  };
  return Object.keys(reasoning).length > 0 ? reasoning : undefined;
}

export function encodeThinking(reasoning: Reasoning, encoding: Encoding): Fields | undefined {
  const { display } = reasoning;
  const { style } = encoding.model.capabilities.reasoning;
  const wanted = findWantedEffort(reasoning);
  if (style === 'none') {
    loseReasoning(reasoning, encoding.lose);
    return undefined;
  }
  const depth =
    style === 'budget' ? encodeBudget(reasoning, encoding) : encodeLevel(reasoning, wanted, encoding);
  const shown = display === undefined ? wanted !== 'none' : display !== 'none';
  return { ...depth, includeThoughts: shown };
}

/** -1 leaves the budget to the model. 0 disables thinking, if the model allows that. */
function fitBudget(wanted: number, { capabilities }: Model): number {
  const { budget: { min = 0, max = Infinity } = {}, canDisable = true } = capabilities.reasoning;
  if (wanted < 0) return -1;
  return wanted === 0 && canDisable ? 0 : Math.min(Math.max(wanted, min, 1), max);
}

/** Encodes the requested budget, or that of the requested effort, within the model's bounds. */
function encodeBudget({ effort, budget }: Reasoning, { model, lose }: Encoding): Fields {
  const wanted = budget ?? efforts.find(({ name }) => name === effort)?.budget;
  if (wanted === undefined) {
    if (effort !== undefined) lose('reasoning.effort', 'the model has no such effort', 'model');
    return {};
  }
  const path = budget === undefined ? 'reasoning.effort' : 'reasoning.budget';
  const sent = fitBudget(wanted, model);
  if (Number.isFinite(wanted) && sent !== wanted) lose(path, `sent as a budget of ${sent}`, 'approximated');
  return { thinkingBudget: Number.isFinite(sent) ? sent : undefined };
}

const levels = ['minimal', 'low', 'medium', 'high'];

function encodeLevel(
  { effort, budget }: Reasoning,
  wanted: string | undefined,
  { model, lose }: Encoding,
): Fields {
  if (wanted === undefined) return {};
  const { efforts: known = levels } = model.capabilities.reasoning;
  const level = findNearestEffort(wanted, known);
  if (!known.includes(level)) {
    lose('reasoning.effort', 'the model has no such effort', 'model');
    return {};
  }
  if (budget !== undefined && effort === undefined)
    lose('reasoning.budget', `sent as level "${level}"`, 'approximated');
  else if (budget !== undefined) lose('reasoning.budget', 'the model accepts a level instead', 'model');
  if (effort !== undefined && level !== effort)
    lose('reasoning.effort', `sent as "${level}"`, 'approximated');
  return { thinkingLevel: level.toUpperCase() };
}

/** A type that other protocols do not have stays with the other fields, and so do the schemas beside it. */
export function decodeFormat({ seen, keep }: Tracked<Wire.Generation>): Format | undefined {
  const { responseMimeType } = seen;
  if (responseMimeType === 'text/plain') return { type: 'text' };
  if (responseMimeType !== 'application/json') return void keep('responseMimeType');
  const { responseSchema, responseJsonSchema } = seen;
  const schema = responseSchema ? readOpenApi(responseSchema) : (responseJsonSchema ?? undefined);
  return schema === undefined ? { type: 'json' } : { type: 'schema', schema };
}

/** Asks for the format in words if the model does not enforce it. */
export function describeUnenforced(
  { format, tools }: CanonicalRequest,
  { model: { capabilities }, modern, lose }: Encoding,
): FormatInWords {
  if (!format || format.type === 'text') return {};
  if (capabilities.structuredOutput && (modern || !tools?.length)) return {};
  lose(
    'format',
    `the model has no structured output${capabilities.structuredOutput ? ' together with tools' : ''}; ` +
      'sent as an instruction',
    'approximated',
  );
  return describeFormat(format);
}

/** Returns the fields of `generationConfig`. */
export function encodeFormat(format: Format, { lose }: Encoding): Fields | undefined {
  if (format.type === 'text') return undefined;
  const json = { responseMimeType: 'application/json' };
  if (format.type === 'json') return json;
  const schema = fitSchema(format.schema, (reason) => lose('format.schema', reason, 'approximated'));
  // This protocol has no other field for the name of a schema.
  return { ...json, responseJsonSchema: nameSchema(format, schema) };
}
