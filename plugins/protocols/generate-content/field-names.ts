/**
 * This protocol's names of canonical fields, for the paths of losses, and their spelling in requests that use
 * snake_case.
 */
import type { CanonicalRequest } from '../../../core/index.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';

export const fieldNames: Readonly<Record<string, string>> = {
  turns: 'contents',
  toolChoice: 'toolConfig.functionCallingConfig',
  outputLimit: 'generationConfig.maxOutputTokens',
  candidates: 'generationConfig.candidateCount',
  temperature: 'generationConfig.temperature',
  topP: 'generationConfig.topP',
  topK: 'generationConfig.topK',
  frequencyPenalty: 'generationConfig.frequencyPenalty',
  presencePenalty: 'generationConfig.presencePenalty',
  seed: 'generationConfig.seed',
  stop: 'generationConfig.stopSequences',
  logprobs: 'generationConfig.responseLogprobs',
  'logprobs.top': 'generationConfig.logprobs',
  format: 'generationConfig.responseMimeType',
  'format.schema': 'generationConfig.responseJsonSchema',
  modalities: 'generationConfig.responseModalities',
  reasoning: 'generationConfig.thinkingConfig',
  'reasoning.effort': 'generationConfig.thinkingConfig.thinkingLevel',
  'reasoning.budget': 'generationConfig.thinkingConfig.thinkingBudget',
  'reasoning.display': 'generationConfig.thinkingConfig.includeThoughts',
  serviceTier: 'serviceTier',
  '.schema': 'parametersJsonSchema',
  '.arguments': 'functionCall.args',
  '.isError': 'functionResponse.response.error',
  '.source': 'fileData.fileUri',
  '.detail': 'mediaResolution',
  '.opaque': 'thoughtSignature',
};

type Spell = (path: string) => string;

/** Returns the names that this client spells differently, or undefined if there are none. */
export function spellNames(
  spell: Spell,
  own: Fields,
  schemaName: string,
): Record<string, string> | undefined {
  const names = {
    ...fieldNames,
    'format.schema': schemaName,
    ...Object.fromEntries(Object.keys(own).map((name) => [name, name])),
  };
  const other = Object.entries(names).filter(([name, path]) => spell(path) !== (fieldNames[name] ?? name));
  return other.length > 0 ? Object.fromEntries(other.map(([name, path]) => [name, spell(path)])) : undefined;
}

/** Rewrites the source paths (`at`) in a request to the client's spelling. */
export function spellPlaces(spell: Spell, request: CanonicalRequest): CanonicalRequest {
  const respell = <Thing extends { at?: string | undefined }>(thing: Thing): Thing =>
    thing.at === undefined ? thing : { ...thing, at: spell(thing.at) };
  const turns = request.turns.map((turn) => ({
    ...respell(turn),
    blocks: turn.blocks.map((block) =>
      block.type === 'tool-result'
        ? { ...respell(block), content: block.content.map(respell) }
        : respell(block),
    ),
  }));
  return { ...request, turns, tools: request.tools?.map(respell) };
}
