/** Citations of a reply, in both directions. */
import { toCount, type Annotation } from '../../../core/index.ts';
import { readObject, readString } from '../wire-kit/values.ts';
import { isObject, pickUnread, splitNames, type Fields } from '../wire-kit/vendor-bag.ts';
import { placeMembers, type Dialect } from './dialect.ts';

const type = 'url_citation';
const known = splitNames('type url title start_index end_index');

/** `from` is where the text begins that the offsets count from. */
export function decodeAnnotation(wire: Fields, { nests, bag }: Dialect, from = 0): Annotation {
  if (nests ? !isObject(wire[type]) : wire.type !== type)
    return { kind: String(wire.type).includes('file') ? 'file' : 'other', ...bag.keep(wire) };
  const citation = nests ? readObject(wire[type]) : wire;
  const { url, title, start_index: first, end_index: last, content } = citation;
  const [start, end] = [toCount(first), toCount(last)];
  return {
    kind: 'url',
    url: readString(url),
    title: readString(title),
    start: start === undefined ? undefined : from + start,
    end: end === undefined ? undefined : from + end,
    // OpenRouter adds the cited passage to its chat completions.
    ...(nests ? { citedText: readString(content) } : {}),
    ...bag.keep(pickUnread(citation, nests ? new Set([...known, 'content']) : known)),
  };
}

/**
 * `from` and `to` are the ends of the annotated text: a citation without offsets spans all of it. The offsets
 * of responses count from there. Returns undefined for kinds that the protocol lacks.
 */
export function encodeAnnotation(
  annotation: Annotation,
  [from, to]: readonly [from: number, to: number],
  dialect: Dialect,
): Fields | undefined {
  const rest = dialect.bag.getFields(annotation);
  if (annotation.kind !== 'url') return Object.keys(rest).length > 0 ? rest : undefined;
  const { url = '', title = '', start = from, end = to, citedText } = annotation;
  const offset = dialect.nests ? 0 : from;
  const passage = dialect.nests && citedText !== undefined ? { content: citedText } : {};
  const offsets = { start_index: start - offset, end_index: end - offset };
  return placeMembers({ ...rest, type, url, title, ...offsets, ...passage }, dialect);
}
