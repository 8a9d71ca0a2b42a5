/**
 * OpenAI, and xAI after it, speak two protocols. A client of either is answered in its own; for all others the request
 * decides: each thing it needs that only one of the two can say counts for that one. Where nothing counts, or both
 * alike, it is the first the provider names.
 */
import type { CanonicalRequest, Model } from '../../core/index.ts';
import { effortFor } from './reasoning-effort.ts';

type Need = (request: CanonicalRequest, model: Model) => boolean;

function takes({ supportedParameters }: Model, parameter: string): boolean {
  return supportedParameters.length === 0 || supportedParameters.includes(parameter);
}

/** What responses has no field for. */
const chatNeeds: readonly Need[] = [
  ({ candidates = 1 }) => candidates > 1,
  ({ stop = [] }, model) => stop.length > 0 && takes(model, 'stop'),
  ({ seed }, model) => seed !== undefined && takes(model, 'seed'),
  ({ frequencyPenalty, presencePenalty }, { capabilities }) => capabilities.sampling && Boolean(frequencyPenalty ?? presencePenalty),
  ({ modalities = [], turns }) => modalities.includes('audio') || turns.some(({ blocks }) => blocks.some((block) => block.type === 'media' && block.kind === 'audio')),
];

/** What chat-completions cannot be asked, given or shown. */
const responsesNeeds: readonly Need[] = [
  ({ tools = [] }) => tools.some(({ type }) => type === 'hosted'),
  // The model's thoughts are neither shown there, nor can they be given back in a loop of tool calls.
  ({ reasoning }, { capabilities }) => capabilities.reasoning.style !== 'none' && reasoning !== undefined && (reasoning.effort ?? effortFor(reasoning.budget ?? -1)) !== 'none',
  ({ turns }, { id }) => turns.some(({ blocks }) => blocks.some((block) => block.type === 'reasoning' && block.opaque?.some(({ vendor }) => id.startsWith(`${vendor}/`)))),
  ({ turns }) => turns.some(({ blocks }) => blocks.some((block) => block.type === 'tool-result' && block.content.some(({ type }) => type === 'media'))),
  ({ turns }) => turns.some(({ blocks }) => blocks.some((block) => block.type === 'media' && block.kind === 'document' && block.source.type === 'url')),
];

/** The protocol that can say more of the request; undefined where neither can. */
export function chooseWire(request: CanonicalRequest, model: Model): 'responses' | 'chat-completions' | undefined {
  const count = (needs: readonly Need[]): number => needs.filter((needed) => needed(request, model)).length;
  const difference = count(responsesNeeds) - count(chatNeeds);
  if (difference === 0) return undefined;
  return difference > 0 ? 'responses' : 'chat-completions';
}
