/**
 * OpenAI, and xAI after it, speak two protocols. A client of either is answered in its own; for all others the request
 * decides: what the other would refuse decides alone, and else each thing it needs that only one of the two can say
 * counts for that one. Where nothing counts, or both alike, it is the first the provider names.
 */
import type { Block, CanonicalRequest, Model } from '../../core/index.ts';
import { isIndispensable } from './hosted-tools.ts';
import { effortFor } from './reasoning-effort.ts';

type Need = (request: CanonicalRequest, model: Model) => boolean;

function takes({ supportedParameters }: Model, parameter: string): boolean {
  return supportedParameters.length === 0 || supportedParameters.includes(parameter);
}

function holds({ turns }: CanonicalRequest, found: (block: Block) => boolean): boolean {
  return turns.some(({ blocks }) => blocks.some(found));
}

/** What responses refuses, and the answers it would not give. */
const chatAlone: readonly Need[] = [
  ({ candidates = 1 }) => candidates > 1,
  (request) => Boolean(request.modalities?.includes('audio')) || holds(request, (block) => block.type === 'media' && block.kind === 'audio'),
];

/** What chat-completions refuses. */
const responsesAlone: readonly Need[] = [
  ({ tools = [] }) => tools.some((tool) => tool.type === 'hosted' && isIndispensable(tool)),
  (request) => holds(request, (block) => block.type === 'media' && block.kind === 'document' && block.source.type === 'url'),
];

/** What responses has no field for. */
const chatNeeds: readonly Need[] = [
  ({ stop = [] }, model) => stop.length > 0 && takes(model, 'stop'),
  ({ seed }, model) => seed !== undefined && takes(model, 'seed'),
  ({ frequencyPenalty, presencePenalty }, { capabilities }) => capabilities.sampling && Boolean(frequencyPenalty ?? presencePenalty),
];

/** What chat-completions cannot be asked, given or shown. */
const responsesNeeds: readonly Need[] = [
  ({ tools = [] }) => tools.some(({ type }) => type === 'hosted'),
  // The model's thoughts are neither shown there, nor can they be given back in a loop of tool calls.
  ({ reasoning }, { capabilities }) => capabilities.reasoning.style !== 'none' && reasoning !== undefined && (reasoning.effort ?? effortFor(reasoning.budget ?? -1)) !== 'none',
  (request, { id }) => holds(request, (block) => block.type === 'reasoning' && Boolean(block.opaque?.some(({ vendor }) => id.startsWith(`${vendor}/`)))),
  (request) => holds(request, (block) => block.type === 'tool-result' && block.content.some(({ type }) => type === 'media')),
];

/** The protocol that can say more of the request; undefined where neither can. */
export function chooseWire(request: CanonicalRequest, model: Model): 'responses' | 'chat-completions' | undefined {
  const count = (needs: readonly Need[]): number => needs.filter((needed) => needed(request, model)).length;
  const difference = count(responsesAlone) - count(chatAlone) || count(responsesNeeds) - count(chatNeeds);
  if (difference === 0) return undefined;
  return difference > 0 ? 'responses' : 'chat-completions';
}
