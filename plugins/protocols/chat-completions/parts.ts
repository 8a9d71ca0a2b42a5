/** Writes parts of a client's own body: what a plugin changed in it, and what the model would refuse. */
import type { Block, PartPlace, PartsSide } from '../../../core/index.ts';
import { chatFlags } from '../../shared/wire-kit/chat-flags.ts';
import { readObjects } from '../../shared/wire-kit/values.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { encodeCall, encodeRefusal, encodeThinking } from './encode-assistant.ts';
import { encodeResult, encodeTurn } from './encode-messages.ts';
import { type Encoding, encodeParts } from './encode-parts.ts';
import { createEncoding } from './encode-request.ts';
import { ChatCall, readRequest } from './read-request.ts';
import { fillReasoning, isReasoningOff, lacksReasoning, writeReasoning } from './reasoning.ts';

export const parts: PartsSide = {
  list: 'messages',
  start({ call, text, request, model, lose }) {
    const own = call instanceof ChatCall ? call : readRequest(JSON.parse(text), text);
    const encoding = createEncoding(request, model, lose, true);
    return {
      refitsSettings: !own.suitsSettings(model),
      isStale: (index) => own.isStale(index, model),
      readsState: ({ vendor }) => vendor === encoding.owner || vendor === '',
      encodeTurn: (turn, index) => encodeTurn(turn, index, encoding),
      encodeBlock: (block, place) => encodeBlock(block, place, encoding),
      finish(body) {
        const messages = readObjects(body.messages);
        const thinks = chatFlags(model.capabilities).thinkingMode && !isReasoningOff(body);
        if (!thinks || !lacksReasoning(messages)) return body;
        lose(
          'turns',
          'sent with blank reasoning: the model refuses earlier tool calls without their reasoning',
          'approximated',
        );
        return { ...body, messages: fillReasoning(messages) };
      },
    };
  },
};

function encodeBlock(block: Block, { turn, path }: PartPlace, encoding: Encoding): readonly unknown[] {
  switch (block.type) {
    case 'text':
    case 'media':
      return encodeParts(block, path, encoding);
    case 'refusal':
      return [encodeRefusal(block)];
    case 'reasoning':
      return block.at?.includes('.content[')
        ? [encodeThinking(block)]
        : readObjects(writeReasoning([block]).reasoning_details);
    case 'tool-call':
      return [
        block.at?.endsWith('.function_call')
          ? { name: block.name, arguments: block.arguments }
          : encodeCall({ block, path }, encoding),
      ];
    case 'tool-result':
      return listMessages(encodeResult(turn, { block, path }, encoding, 0));
    case 'foreign':
      return [block.value];
  }
}

/** A result with media needs two messages, so that its turn has to be encoded whole. */
function listMessages({ message, media }: ReturnType<typeof encodeResult>): Fields[] {
  return media.length > 0 ? [] : [message];
}
