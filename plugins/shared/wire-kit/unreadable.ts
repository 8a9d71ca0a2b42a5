/**
 * Decides whether a reply can go on without an event that could not be read. A lost piece of text is reported and the
 * reply goes on. An event that opens, closes or finishes something would leave the events after it without sense.
 */
import type { WireEvent } from '../../../core/index.ts';

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
