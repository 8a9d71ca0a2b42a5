/** The gateway's own headers of a request: its tags, and the wish for the cost in the body of the reply. */
import type { IncomingHttpHeaders } from 'node:http';
import type { ClientCall } from '../protocol.ts';
import { GatewayError } from '../util/errors.ts';
import { readTagsHeader, tagsHeader } from './tags-header.ts';

/** On a request `reply`; on a reply what the call cost. */
export const costHeader = 'x-tollgate-cost';

/** Throws `invalid_request` if one of them is wrong. */
export function checkRequestHeaders(headers: IncomingHttpHeaders, { stream, usageWanted }: ClientCall): void {
  readTagsHeader(headers[tagsHeader]);
  const wish = headers[costHeader];
  if (wish === undefined) return;
  const fault =
    wish === 'reply'
      ? stream &&
        !usageWanted &&
        'this stream has no usage to show it in; ask for usage (stream_options.include_usage)'
      : 'its only value is "reply"';
  if (fault)
    throw new GatewayError('invalid_request', `The header ${costHeader} is wrong: ${fault}.`, {
      param: costHeader,
    });
}
