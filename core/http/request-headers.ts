/** The gateway's own headers of a request: its tags, and the wish for the cost in the body of the reply. */
import type { IncomingHttpHeaders } from 'node:http';
import type { ClientCall, Tag } from '../protocol.ts';
import { GatewayError } from '../util/errors.ts';

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

/**
 * The header with which a caller tags a call: `x-tollgate-tags: team:search,env:prod`. A tag is a name, or a
 * name and a value. Budgets and reports select calls by their tags.
 */
export const tagsHeader = 'x-tollgate-tags';

/** Tags in one header, and characters of a tag's name and value. */
export const mostTags = 20;
export const longestTagName = 64;
export const longestTagValue = 128;

const form = new RegExp(
  `^[\\w.@+/-]{1,${longestTagName}}(?::[^\\p{Cc}\\ud800-\\udfff]{1,${longestTagValue}})?$`,
  'u',
);

const none: readonly Tag[] = [];

/** The part before the first colon is the name. */
export function splitTag(text: string): Tag {
  const colon = text.indexOf(':');
  return colon < 0 ? [text, ''] : [text.slice(0, colon), text.slice(colon + 1)];
}

/** Throws `invalid_request` for a tag of another form, too many of them, and two with one name. */
export function readTagsHeader(header: string | readonly string[] | undefined): readonly Tag[] {
  if (header === undefined) return none;
  const tags = new Map<string, string>();
  for (const part of String(header).split(',', mostTags * 2)) {
    const text = part.trim();
    if (text === '') continue;
    if (!form.test(text)) {
      throw toTagsError(
        `"${text.slice(0, 100)}" is not a tag. A tag is name:value or a name: ` +
          `the name has 1 to ${longestTagName} letters, digits and . _ - @ + /, ` +
          `the value 1 to ${longestTagValue} characters without a comma`,
      );
    }
    const [name, value] = splitTag(text);
    if (tags.has(name)) throw toTagsError(`it has more than one tag named "${name}"`);
    tags.set(name, value);
  }
  if (tags.size > mostTags) throw toTagsError(`it has more than ${mostTags} tags`);
  return [...tags];
}

function toTagsError(message: string): GatewayError {
  return new GatewayError('invalid_request', `The header ${tagsHeader} is wrong: ${message}.`, {
    param: tagsHeader,
  });
}
