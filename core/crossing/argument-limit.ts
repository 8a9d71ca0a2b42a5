/**
 * Limits the arguments of tool calls. Some protocols carry them as text and others as objects, so translation
 * parses them: brackets in a text would hold the event loop for seconds, as they would in a body.
 */
import type { CanonicalRequest } from '../canonical/request.ts';
import { limits, longestUncounted, toTooLargeError } from '../http/json-body.ts';
import { countStructure } from '../http/json-structure.ts';

/** Throws `invalid_request` if parsing all arguments would take too long. */
export function checkArguments({ turns }: CanonicalRequest): void {
  const texts: string[] = [];
  let length = 0;
  for (const { blocks } of turns)
    for (const block of blocks) {
      if (block.type !== 'tool-call' || block.custom) continue;
      texts.push(block.arguments);
      length += block.arguments.length;
    }
  if (length <= longestUncounted) return;
  let { fields, values } = limits;
  for (const text of texts) {
    const found = countStructure(Buffer.from(text), { depth: limits.depth, fields, values });
    if (found.exceeded !== undefined) throw toTooLargeError(found.exceeded);
    fields -= found.members + found.listed;
    values -= found.values;
  }
}
