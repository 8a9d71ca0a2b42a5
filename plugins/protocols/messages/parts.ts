/** Writes parts of a client's own body: what a plugin changed in it, and what the provider would refuse. */
import type { PartsSide } from '../../../core/index.ts';
import { checkWire } from '../../shared/wire-kit/wire-check.ts';
import { nativeVendor } from './bag.ts';
import { encodeBlock } from './encode-blocks.ts';
import { encodeMessage } from './encode-messages.ts';
import { createEncoding } from './encoding.ts';
import { isStale } from './read-request.ts';
import { fitThinking } from './thinking.ts';
import * as Wire from './wire.ts';

export const parts: PartsSide = {
  list: 'messages',
  liftsInstructions: true,
  start({ text, request, model, lose }) {
    const { messages } = checkWire(Wire.count, JSON.parse(text));
    const encoding = createEncoding(request, model, lose, true);
    return {
      isStale(index) {
        const message = messages[index];
        return message !== undefined && isStale(message, messages[index + 1]);
      },
      readsState: ({ vendor }) => vendor === encoding.owner || vendor === nativeVendor,
      encodeTurn(turn, index) {
        const path = `turns[${index}]`;
        for (const [position, block] of turn.blocks.entries())
          if (block.type === 'text' && block.text.trim() === '')
            lose(`${path}.blocks[${position}]`, 'the provider refuses a blank text');
        return encodeMessage(turn, path, encoding);
      },
      encodeBlock: (block, { path }) => encodeBlock(block, path, encoding),
      finish: (body) => fitThinking(body, lose),
    };
  },
};
