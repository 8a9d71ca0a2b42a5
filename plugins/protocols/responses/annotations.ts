/** Citations of a reply. This wire counts their places in the text of their own part. */
import type { CanonicalEvent } from '../../../core/index.ts';
import { leftover, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag } from './bag.ts';

export type Annotation = Extract<CanonicalEvent, { type: 'annotation' }>['annotation'];

const citationFields = new Set(['type', 'url', 'title', 'start_index', 'end_index']);

function word(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function place(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) ? value : undefined;
}

export function decodeAnnotation(wire: Fields): Annotation {
  if (wire.type !== 'url_citation')
    return { kind: String(wire.type).includes('file') ? 'file' : 'other', ...bag.keep(wire) };
  return {
    kind: 'url',
    url: word(wire.url),
    title: word(wire.title),
    start: place(wire.start_index),
    end: place(wire.end_index),
    ...bag.keep(leftover(wire, citationFields)),
  };
}

/** Passed how long the annotated text is, for citations that do not say their place; undefined where this wire has no such kind. */
export function encodeAnnotation(annotation: Annotation, length: number): Fields | undefined {
  const rest = bag.fields(annotation);
  if (annotation.kind !== 'url') return Object.keys(rest).length > 0 ? rest : undefined;
  const { url = '', title = '', start = 0, end = length } = annotation;
  return { type: 'url_citation', ...rest, url, title, start_index: start, end_index: end };
}
