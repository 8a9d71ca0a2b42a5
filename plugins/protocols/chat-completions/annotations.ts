/** Citations of a reply. This wire counts their places in the whole text of the message. */
import { knownCount, type CanonicalEvent } from '../../../core/index.ts';
import { isObject, leftover, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag } from './bag.ts';

export type Annotation = Extract<CanonicalEvent, { type: 'annotation' }>['annotation'];

const citationFields = new Set(['url', 'title', 'start_index', 'end_index', 'content']);

function word(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

export function decodeAnnotation(wire: Fields): Annotation {
  const citation = wire.url_citation;
  if (!isObject(citation)) return { kind: wire.type === 'file' ? 'file' : 'other', ...bag.keep(wire) };
  return {
    kind: 'url',
    url: word(citation.url),
    title: word(citation.title),
    start: knownCount(citation.start_index),
    end: knownCount(citation.end_index),
    // OpenRouter adds the passage it found.
    citedText: word(citation.content),
    ...bag.keep(leftover(citation, citationFields)),
  };
}

/** Passed where the annotated text stands, for citations that do not say; undefined where this wire has no such kind. */
export function encodeAnnotation(annotation: Annotation, start: number, end: number): Fields | undefined {
  const rest = bag.fields(annotation);
  if (annotation.kind !== 'url') return Object.keys(rest).length > 0 ? rest : undefined;
  const { url = '', title = '', citedText } = annotation;
  const citation = {
    ...rest,
    url,
    title,
    start_index: annotation.start ?? start,
    end_index: annotation.end ?? end,
  };
  return {
    type: 'url_citation',
    url_citation: citedText === undefined ? citation : { ...citation, content: citedText },
  };
}
