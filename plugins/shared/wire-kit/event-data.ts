/**
 * Parses the data of a stream's event, and decides whether the reply can continue without an event that is not readable.
 */
import type { WireEvent } from '../../../core/index.ts';

export function parsed(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return undefined;
  }
}

/** What begins, ends or calls something: by an event's name, or by what is left of its data. */
const structural =
  /"(tool_calls|function_call|functionCall|finish_reason|finishReason|stop_reason)":\s*["{[]/;

/** Names of events whose loss costs no more than a piece of text. */
const passing = /^(ping|keepalive|message|content_block_delta)$|(text|refusal)\.delta$|\.partial_image$/;

/** The name of an event, also where only its data says it. */
function nameOf({ event, data }: WireEvent): string | undefined {
  return event ?? /^\s*\{\s*"type":\s*"([\w.]+)"/.exec(data)?.[1];
}

/** Passed an event whose data is no JSON object. */
export function canSkip(event: WireEvent): boolean {
  const name = nameOf(event);
  return (name === undefined || passing.test(name)) && !structural.test(event.data);
}

/** The message for an event that is needed. */
export const cannotBeRead = 'The provider sent an event that could not be read.';
