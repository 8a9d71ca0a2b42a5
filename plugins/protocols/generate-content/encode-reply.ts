/** Encodes a whole reply as one response: each candidate with all its parts. */
import type { CanonicalEvent, ReplyContext, Usage } from '../../../core/index.ts';
import { loseForeignReplyFields } from '../../shared/wire-kit/losses.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName } from './bag.ts';
import { hidesThoughts, buildReplyTail } from './encode-events.ts';
import { ReplyParts } from './reply-parts.ts';
import { encodeUsage } from './usage.ts';

export function encodeReply(events: readonly CanonicalEvent[], context: ReplyContext): unknown {
  const parts = new ReplyParts({
    streamed: false,
    hidesThoughts: hidesThoughts(context),
    lost: context.lost,
  });
  const contents = new Map<number, Fields[]>();
  let usage: Usage = {};
  let usageMetadata: Fields | undefined;
  for (const event of events) {
    if (event.type === 'usage') {
      usage = { ...usage, ...event.usage };
      usageMetadata = encodeUsage(usage, bag.fields(event));
    }
    const added = parts.push(event);
    if (!('candidate' in event)) continue;
    const content = contents.get(event.candidate) ?? [];
    contents.set(event.candidate, content);
    for (const part of added) content.push(part);
  }
  const start = events.find((event) => event.type === 'response-start');
  if (start) loseForeignReplyFields(context, start, protocolName);
  const tail = buildReplyTail(context, usageMetadata, start);
  if (parts.promptFeedback !== undefined) return { promptFeedback: parts.promptFeedback, ...tail };
  const candidates = [...contents]
    .toSorted(([first], [second]) => first - second)
    // Clients send the content back, and Google refuses one without parts.
    .map(([index, all]) => ({
      content: { parts: all.length > 0 ? all : [{ text: '' }], role: 'model' },
      ...parts.endings.get(index),
      index,
    }));
  return { candidates, ...tail };
}
