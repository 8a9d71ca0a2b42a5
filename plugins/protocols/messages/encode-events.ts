/** Encodes canonical events as a client's stream of server-sent events. */
import {
  GatewayError,
  type CanonicalEvent,
  type EventEncoder,
  type ReplyContext,
} from '../../../core/index.ts';
import { parseArguments } from '../../shared/wire-kit/tool-arguments.ts';
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { isCrossedBlock, CrossedSearches } from './crossed-searches.ts';
import { encodeStreamError } from './errors.ts';
import { ReplyEvents } from './reply-events.ts';

/** Byte for byte as Anthropic sends it, with the space. */
export const ping = 'event: ping\ndata: {"type": "ping"}\n\n';

export class StreamEncoder implements EventEncoder {
  readonly #events: ReplyEvents;
  readonly #searches: CrossedSearches;

  constructor(context: ReplyContext) {
    this.#events = new ReplyEvents(context);
    this.#searches = new CrossedSearches(context);
  }

  push(event: CanonicalEvent): string {
    if (event.type === 'error') return encodeStreamError(new GatewayError('upstream_failed', event.message));
    let frames = '';
    for (const each of this.#searches.add(this.#events.push(event)))
      frames += each.type === 'ping' ? ping : `event: ${each.type}\ndata: ${JSON.stringify(each)}\n\n`;
    return frames;
  }
}

type Content = Record<string, unknown>;

export function encodeReply(events: readonly CanonicalEvent[], context: ReplyContext): unknown {
  const wire = new ReplyEvents(context, true);
  const searches = new CrossedSearches(context);
  let message: Content = {};
  const content: Content[] = [];
  /** The JSON text of arguments, by block index. */
  const inputs = new Map<number, string>();
  for (const each of events)
    for (const event of searches.add(wire.push(each))) {
      const index = Number(event.index);
      const block = content[index];
      if (event.type === 'message_start' && isObject(event.message)) message = { ...event.message, content };
      else if (event.type === 'content_block_start' && isObject(event.content_block))
        content[index] = { ...event.content_block };
      else if (event.type === 'content_block_delta' && block && isObject(event.delta))
        mergeDelta(block, event.delta, index, inputs);
      else if (event.type === 'message_delta' && isObject(event.delta))
        message = { ...message, ...event.delta, usage: event.usage };
    }
  for (const [index, text] of inputs)
    Object.assign(content[index] ?? {}, { input: parseArguments(text) ?? { _raw: text } });
  closeWithText(content);
  return message;
}

/**
 * Moves a final text behind sealed state and crossed searches: Claude Code prints only the last block, and
 * only if it is text.
 */
function closeWithText(content: Content[]): void {
  const last = content.findLastIndex((block) => block.type !== 'redacted_thinking' && !isCrossedBlock(block));
  const text = content[last];
  if (text?.type !== 'text') return;
  content.splice(last, 1);
  content.push(text);
}

function mergeDelta(block: Content, delta: Fields, index: number, inputs: Map<number, string>): void {
  switch (delta.type) {
    case 'text_delta':
      block.text = String(block.text) + String(delta.text);
      break;
    case 'thinking_delta':
      block.thinking = String(block.thinking) + String(delta.thinking);
      break;
    case 'signature_delta':
      block.signature = delta.signature;
      break;
    case 'input_json_delta':
      inputs.set(index, (inputs.get(index) ?? '') + String(delta.partial_json));
      break;
    case 'citations_delta':
      if (Array.isArray(block.citations)) block.citations.push(delta.citation);
      else block.citations = [delta.citation];
      break;
    default:
  }
}
