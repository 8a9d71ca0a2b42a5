/**
 * A request without the reasoning of earlier turns, for a vendor that no longer accepts what seals it: a signature is bound
 * to the account, the model or the text before it, and conversations move or are edited.
 */
import type { Block, CanonicalRequest, Turn } from '../canonical/request.ts';
import type { Loss } from '../loss.ts';
import type { Shortened } from './truncation.ts';

const reason = 'left out, since the vendor does not accept its signature';

function isSealed(block: Block): boolean {
  return block.type === 'reasoning' || ('opaque' in block && block.opaque !== undefined);
}

/** A block other than reasoning stays, and loses only its seal. */
function unsealed(block: Block): Block[] {
  if (block.type === 'reasoning') return [];
  if (!('opaque' in block)) return [block];
  const { opaque: _, ...rest } = block;
  return [rest];
}

export function withoutReasoning(request: CanonicalRequest): Shortened {
  const losses: Loss[] = [];
  const turns = request.turns.map((turn, index): Turn => {
    const sealed = turn.blocks.flatMap((block, place) =>
      isSealed(block) ? [block.at ?? `turns[${index}].blocks[${place}]`] : [],
    );
    if (sealed.length === 0) return turn;
    for (const path of sealed) losses.push({ path, reason, code: 'state' });
    return { ...turn, blocks: turn.blocks.flatMap(unsealed) };
  });
  // A turn that only held reasoning has nothing left to say.
  return {
    request: {
      ...request,
      turns: turns.filter((turn, index) => turn.blocks.length > 0 || turn === request.turns[index]),
    },
    losses,
  };
}
