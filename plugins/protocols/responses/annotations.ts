/** Converts citations of a reply, in both directions. Offsets count characters in the text of their part. */
import type { Annotation } from '../../../core/index.ts';
import { readString } from '../../shared/wire-kit/values.ts';
import { pickUnread, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag } from './bag.ts';

function readInteger(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) ? value : undefined;
}

export function decodeAnnotation(wire: Fields): Annotation {
  if (wire.type !== 'url_citation')
    return { kind: String(wire.type).includes('file') ? 'file' : 'other', ...bag.keep(wire) };
  return {
    kind: 'url',
    url: readString(wire.url),
    title: readString(wire.title),
    start: readInteger(wire.start_index),
    end: readInteger(wire.end_index),
    ...bag.keep(pickUnread(wire, ['type', 'url', 'title', 'start_index', 'end_index'])),
  };
}

/**
 * `length` is the length of the annotated text: a citation without offsets spans all of it. Returns undefined
 * if this protocol has no such annotation.
 */
export function encodeAnnotation(annotation: Annotation, length: number): Fields | undefined {
  const rest = bag.getFields(annotation);
  if (annotation.kind !== 'url') return Object.keys(rest).length > 0 ? rest : undefined;
  const { url = '', title = '', start = 0, end = length } = annotation;
  return { type: 'url_citation', ...rest, url, title, start_index: start, end_index: end };
}
