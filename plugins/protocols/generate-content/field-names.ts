/** Canonical fields that this protocol spells otherwise, and how a client that writes some of them in snake_case has them. */
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

/** Those that the client has other names for, and among them what only this protocol has: losses are told by them. */
export function namesBy(spell: Spell, own: Fields, schemaName: string): Record<string, string> | undefined {
  const told = {
    ...fieldNames,
    'format.schema': schemaName,
    ...Object.fromEntries(Object.keys(own).map((name) => [name, name])),
  };
  const other = Object.entries(told).filter(([name, path]) => spell(path) !== (fieldNames[name] ?? name));
  return other.length > 0 ? Object.fromEntries(other.map(([name, path]) => [name, spell(path)])) : undefined;
}

/** The places of everything in a request, as the client spells them. */
export function placesBy(spell: Spell, request: CanonicalRequest): CanonicalRequest {
  const placed = <Thing extends { at?: string | undefined }>(thing: Thing): Thing =>
    thing.at === undefined ? thing : { ...thing, at: spell(thing.at) };
  const turns = request.turns.map((turn) => ({
    ...placed(turn),
    blocks: turn.blocks.map((block) =>
      block.type === 'tool-result' ? { ...placed(block), content: block.content.map(placed) } : placed(block),
    ),
  }));
  return { ...request, turns, tools: request.tools?.map(placed) };
}
