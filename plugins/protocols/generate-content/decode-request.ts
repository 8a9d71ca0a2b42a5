/**
 * Decodes a client's request to the canonical form. Fields without a canonical name are kept in the bag.
 */
import type { CanonicalRequest, Format, Reasoning } from '../../../core/index.ts';
import {
  nestFields,
  pickOwnFields,
  pickUnread,
  type Fields,
  splitNames,
} from '../../shared/wire-kit/vendor-bag.ts';
import { bag } from './bag.ts';
import { decodeTurns } from './decode-contents.ts';
import { decodeToolConfig, decodeTools } from './decode-tools.ts';
import { spellNames, spellPlaces } from './field-names.ts';
import { readOpenApi } from './openapi-schema.ts';
import { createSpeller, type SpellingNote } from './spelling.ts';
import type * as Wire from './wire.ts';

/** The facts of a request that its parsed body does not hold. */
interface RequestContext {
  readonly model: string;
  readonly stream: boolean;
  readonly text: string;
  readonly spelling: readonly SpellingNote[];
}

const requestFields = splitNames(`
  contents systemInstruction tools toolConfig generationConfig serviceTier model
`);
/** Fields of `generationConfig` except `thinkingConfig`, log probabilities and the format. */
const generationFields = splitNames(`
  temperature topP topK candidateCount maxOutputTokens stopSequences presencePenalty frequencyPenalty seed
  responseModalities
`);

export function decodeRequest(
  wire: Wire.Request,
  { model, stream, text, spelling }: RequestContext,
): CanonicalRequest {
  const config = wire.generationConfig ?? {};
  const toolConfig = decodeToolConfig(wire.toolConfig);
  const format = decodeFormat(config);
  const thinking = decodeThinking(config);
  const logprobs = decodeLogprobs(config);
  const known = new Set([...generationFields, ...format.read, ...thinking.read, ...logprobs.read]);
  const generation = { ...pickUnread(config, known), ...thinking.rest };
  const own = {
    ...pickOwnFields(wire, requestFields),
    ...flatten('toolConfig', toolConfig.rest),
    ...flatten('generationConfig', generation),
  };
  const spell = createSpeller(spelling);
  const request: CanonicalRequest = {
    model,
    stream,
    turns: decodeTurns(wire, text),
    tools: decodeTools(wire.tools),
    toolChoice: toolConfig.choice,
    outputLimit: config.maxOutputTokens ?? undefined,
    candidates: config.candidateCount ?? undefined,
    temperature: config.temperature ?? undefined,
    topP: config.topP ?? undefined,
    topK: config.topK ?? undefined,
    frequencyPenalty: config.frequencyPenalty ?? undefined,
    presencePenalty: config.presencePenalty ?? undefined,
    seed: config.seed ?? undefined,
    stop: config.stopSequences ?? undefined,
    logprobs: logprobs.value,
    format: format.value,
    reasoning: thinking.value,
    modalities: config.responseModalities?.map((each) => each.toLowerCase()),
    serviceTier: wire.serviceTier ? (tiers.get(wire.serviceTier) ?? wire.serviceTier) : undefined,
    names: spellNames(
      spell ?? ((path) => path),
      own,
      config.responseSchema ? 'generationConfig.responseSchema' : 'generationConfig.responseJsonSchema',
    ),
    ...bag.keep(own),
  };
  return spell ? spellPlaces(spell, request) : request;
}

/** Google's tiers that have other names in the canonical form. */
const tiers = new Map([
  ['unspecified', 'auto'],
  ['standard', 'default'],
]);

/** Names each field by its path, so that a loss names the exact field. */
function flatten(name: string, fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).map(([member, value]) => [`${name}.${member}`, value]));
}

interface DecodedField<Value> {
  readonly value: Value | undefined;
  /** The fields that the value covers. */
  readonly read: readonly string[];
}

function decodeFormat(config: Wire.Generation): DecodedField<Format> {
  const { responseMimeType: type, responseSchema, responseJsonSchema } = config;
  const read = ['responseMimeType'];
  if (type === 'text/plain') return { value: { type: 'text' }, read };
  if (type !== 'application/json') return { value: undefined, read: [] };
  if (responseSchema)
    return {
      value: { type: 'schema', schema: readOpenApi(responseSchema) },
      read: [...read, 'responseSchema'],
    };
  if (responseJsonSchema === undefined || responseJsonSchema === null)
    return { value: { type: 'json' }, read };
  return { value: { type: 'schema', schema: responseJsonSchema }, read: [...read, 'responseJsonSchema'] };
}

/** SDKs write the level in upper case, the documentation in lower case. */
function decodeThinking({ thinkingConfig: config }: Wire.Generation): DecodedField<Reasoning> & {
  readonly rest: Fields;
} {
  if (!config) return { value: undefined, read: [], rest: {} };
  const { includeThoughts: shown, thinkingBudget: budget, thinkingLevel: level } = config;
  const effort = level && level !== 'THINKING_LEVEL_UNSPECIFIED' ? level.toLowerCase() : undefined;
  const value = {
    ...(effort === undefined ? {} : { effort }),
    ...(typeof budget === 'number' ? { budget } : {}),
    ...(typeof shown === 'boolean' ? { display: shown ? ('summary' as const) : ('none' as const) } : {}),
  };
  const rest = pickUnread(config, ['includeThoughts', 'thinkingBudget', 'thinkingLevel']);
  return {
    value: Object.keys(value).length > 0 ? value : undefined,
    read: ['thinkingConfig'],
    rest: nestFields('thinkingConfig', rest),
  };
}

function decodeLogprobs({
  responseLogprobs: wanted,
  logprobs: top,
}: Wire.Generation): DecodedField<NonNullable<CanonicalRequest['logprobs']>> {
  if (!wanted) return { value: undefined, read: [] };
  return { value: typeof top === 'number' ? { top } : {}, read: ['responseLogprobs', 'logprobs'] };
}
