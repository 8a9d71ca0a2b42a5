/**
 * Parses the data of a stream's event, and decides whether the reply can continue without an event that is
 * not readable.
 */
import type { WireEvent } from '../../../core/index.ts';

/** The parsed JSON; undefined if the data is not JSON. */
export function parseJson(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return undefined;
  }
}

/** Members of an event that starts, ends or calls something. */
const structural =
  /"(tool_calls|function_call|functionCall|finish_reason|finishReason|stop_reason)":\s*["{[]/;

/** Names of events that carry no more than a piece of text. */
const passing = /^(ping|keepalive|message|content_block_delta)$|(text|refusal)\.delta$|\.partial_image$/;

/** The name of an event, which some vendors write only in its data. */
function readName({ event, data }: WireEvent): string | undefined {
  return event ?? /^\s*\{\s*"type":\s*"([\w.]+)"/.exec(data)?.[1];
}

/**
 * Whether the reply can continue without this event, whose data is not a JSON object. A lost piece of text is
 * reported. Without an event that opens, closes or finishes something, the events after it would make no
 * sense.
 */
export function canSkipEvent(event: WireEvent): boolean {
  const name = readName(event);
  return (name === undefined || passing.test(name)) && !structural.test(event.data);
}

/** Why a reply ends at an unreadable event that cannot be skipped: the end of a sentence. */
export const unreadableEvent = 'it sent an event that could not be read.';
