/**
 * Removes the reasoning of earlier turns, for a provider that rejects its signatures. A signature is bound to
 * the account, the model or the preceding text, and conversations move or are edited.
 */
import type { Block, CanonicalRequest, Turn } from '../canonical/request.ts';
import type { Loss } from '../loss.ts';
import type { Shortened } from './truncation.ts';

const reason = 'left out, since the provider does not accept its signature';

function isSealed(block: Block): boolean {
  return block.type === 'reasoning' || ('opaque' in block && block.opaque !== undefined);
}

/** Removes reasoning, and the signature of other blocks. */
function unseal(block: Block): Block[] {
  if (block.type === 'reasoning') return [];
  if (!('opaque' in block)) return [block];
  const { opaque: _, ...rest } = block;
  return [rest];
}

export function removeReasoning(request: CanonicalRequest): Shortened {
  const losses: Loss[] = [];
  const turns = request.turns.map((turn, index): Turn => {
    const sealed = turn.blocks.flatMap((block, place) =>
      isSealed(block) ? [block.at ?? `turns[${index}].blocks[${place}]`] : [],
    );
    if (sealed.length === 0) return turn;
    for (const path of sealed) losses.push({ path, reason, code: 'state' });
    return { ...turn, blocks: turn.blocks.flatMap(unseal) };
  });
  // A turn that contained only reasoning is dropped.
  return {
    request: {
      ...request,
      turns: turns.filter((turn, index) => turn.blocks.length > 0 || turn === request.turns[index]),
    },
    losses,
  };
}
