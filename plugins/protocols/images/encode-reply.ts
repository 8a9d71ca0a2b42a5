/** Writes a whole reply as one image result. */
import type { CanonicalEvent, ReplyContext } from '../../../core/index.ts';
import { dataOf, Pictures } from './pictures.ts';

/** Throws if the reply has no picture. */
export function encodeReply(events: readonly CanonicalEvent[], context: ReplyContext): unknown {
  const pictures = new Pictures(context);
  for (const event of events) pictures.push(event);
  pictures.check();
  const [first] = pictures.all;
  return {
    created: pictures.created,
    data: pictures.all.map((picture, index) => ({ ...dataOf(picture), index })),
    model: context.model,
    ...(first ? pictures.settings(first) : {}),
    usage: pictures.usage,
  };
}
