/** Encodes a reply that is not streamed as one response object. */
import type { CanonicalEvent, ReplyContext, Usage } from '../../../core/index.ts';
import { OutputItemEncoder } from './encode-output-items.ts';
import { ResponseObject } from './response-object.ts';

export function encodeReply(events: readonly CanonicalEvent[], context: ReplyContext): unknown {
  const items = new OutputItemEncoder(context);
  const response = new ResponseObject(context);
  let usage: Usage = {};
  for (const event of events) {
    if (event.type === 'usage') usage = { ...usage, ...event.usage };
    else items.push(event);
  }
  items.close();
  response.addStart(events.find((event) => event.type === 'response-start'));
  for (const event of events) if (event.type === 'finish') response.addFinish(event);
  return response.encodeEnded(items.ending, items.output, usage);
}
