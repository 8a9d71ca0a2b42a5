/**
 * OpenAI and xAI speak two protocols. A client of either is answered in its own, unless the model refuses
 * tools there. For all other clients the request decides: if one protocol would refuse something, Tollgate
 * takes the other; otherwise the one that can express more. If both can express the same, the provider's
 * first one wins.
 */
import type { Block, CanonicalRequest, Model } from '../../../core/index.ts';
import { listsParameter } from '../wire-kit/fit-to-model.ts';
import { isIndispensable, needsPicture, needsSearch } from '../wire-kit/hosted-tools.ts';
import { findEffort, findWantedEffort } from '../wire-kit/reasoning-effort.ts';
import { chatFlags } from './chat-flags.ts';

type Need = (request: CanonicalRequest, model: Model) => boolean;

function holds({ turns }: CanonicalRequest, found: (block: Block) => boolean): boolean {
  return turns.some(({ blocks }) => blocks.some(found));
}

/** What responses refuses, or cannot answer. */
const chatOnly: readonly Need[] = [
  ({ candidates = 1 }) => candidates > 1,
  (request) =>
    Boolean(request.modalities?.includes('audio')) ||
    holds(request, (block) => block.type === 'media' && block.kind === 'audio'),
];

/** What chat-completions refuses. */
const responsesOnly: readonly Need[] = [
  (request, { supportedParameters }) => {
    const paints = needsPicture(request);
    const searches = needsSearch(request) && !supportedParameters.includes('web_search_options');
    return (request.tools ?? []).some(
      (tool) => tool.type === 'hosted' && isIndispensable(tool, { searches, paints }),
    );
  },
  (request) =>
    holds(
      request,
      (block) => block.type === 'media' && block.kind === 'document' && block.source.type === 'url',
    ),
];

/** What responses has no field for. */
const chatBetter: readonly Need[] = [
  ({ stop = [] }, model) => stop.length > 0 && listsParameter(model, 'stop'),
  ({ seed }, model) => seed !== undefined && listsParameter(model, 'seed'),
  ({ frequencyPenalty, presencePenalty }, { capabilities }) =>
    capabilities.sampling && Boolean(frequencyPenalty ?? presencePenalty),
];

/** What chat-completions has no field for, in its request or in its reply. */
const responsesBetter: readonly Need[] = [
  ({ tools = [] }) => tools.some(({ type }) => type === 'hosted'),
  // Chat-completions does not show the model's reasoning, and cannot return it in a loop of tool calls.
  ({ reasoning }, { capabilities }) =>
    capabilities.reasoning.style !== 'none' &&
    reasoning !== undefined &&
    (reasoning.effort ?? findEffort(reasoning.budget ?? -1)) !== 'none',
  (request, { id }) =>
    holds(
      request,
      (block) =>
        block.type === 'reasoning' &&
        Boolean(block.opaque?.some(({ vendor }) => id.startsWith(`${vendor}/`))),
    ),
  (request) =>
    holds(
      request,
      (block) => block.type === 'tool-result' && block.content.some(({ type }) => type === 'media'),
    ),
];

/** The protocol that can express more of the request; undefined if both can express the same. */
export function chooseWire(
  request: CanonicalRequest,
  model: Model,
): 'responses' | 'chat-completions' | undefined {
  // This outweighs all other needs: what responses lacks is refused by name or reported as lost.
  if (hasRefusedTools(request, model)) return 'responses';
  const count = (needs: readonly Need[]): number =>
    needs.filter((isNeeded) => isNeeded(request, model)).length;
  const difference = count(responsesOnly) - count(chatOnly) || count(responsesBetter) - count(chatBetter);
  if (difference === 0) return undefined;
  return difference > 0 ? 'responses' : 'chat-completions';
}

/**
 * Whether chat-completions refuses a call with tools and this much reasoning. OpenAI's models since GPT-5.4
 * accept both together only in responses. Without an effort the model's default counts: "none" for GPT-5.4,
 * "medium" for GPT-5.5.
 */
export function refusesChatTools({ capabilities }: Model, reasoning: CanonicalRequest['reasoning']): boolean {
  if (chatFlags(capabilities).tools === 'always') return false;
  return ((reasoning && findWantedEffort(reasoning)) ?? capabilities.reasoning.default ?? 'none') !== 'none';
}

/** Whether chat-completions refuses a request because of its tools. */
function hasRefusedTools({ tools = [], reasoning }: CanonicalRequest, model: Model): boolean {
  return tools.length > 0 && refusesChatTools(model, reasoning);
}
