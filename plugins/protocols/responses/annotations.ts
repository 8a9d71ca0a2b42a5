/**
 * Converts citations of a reply, in both directions. Offsets count characters in the text of their part,
 * canonical ones in the entire answer.
 */
import type { Annotation } from '../../../core/index.ts';
import { readObjects, readString } from '../../shared/wire-kit/values.ts';
import { pickUnread, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag } from './bag.ts';

function readOffset(value: unknown, from: number): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) ? from + value : undefined;
}

/** `from` is where the annotated part begins in the answer. */
export function decodeAnnotation(wire: Fields, from: number): Annotation {
  if (wire.type !== 'url_citation')
    return { kind: String(wire.type).includes('file') ? 'file' : 'other', ...bag.keep(wire) };
  return {
    kind: 'url',
    url: readString(wire.url),
    title: readString(wire.title),
    start: readOffset(wire.start_index, from),
    end: readOffset(wire.end_index, from),
    ...bag.keep(pickUnread(wire, ['type', 'url', 'title', 'start_index', 'end_index'])),
  };
}

/** What one search of Perplexity found, in the order in which its answers count them. */
export function decodeSources({ results }: Fields): Annotation[] {
  return readObjects(results).map(({ url, title }) => ({
    kind: 'url',
    url: readString(url),
    title: readString(title),
  }));
}

/**
 * `from` and `to` are the ends of the annotated part: a citation without offsets spans all of it. Returns
 * undefined if this protocol has no such annotation.
 */
export function encodeAnnotation(annotation: Annotation, from: number, to: number): Fields | undefined {
  const rest = bag.getFields(annotation);
  if (annotation.kind !== 'url') return Object.keys(rest).length > 0 ? rest : undefined;
  const { url = '', title = '', start = from, end = to } = annotation;
  return { type: 'url_citation', ...rest, url, title, start_index: start - from, end_index: end - from };
}
