/**
 * Converts citations of a reply, in both directions. Offsets count characters in the message's entire text.
 */
import { toCount, type Annotation } from '../../../core/index.ts';
import { readString } from '../../shared/wire-kit/values.ts';
import { isObject, pickUnread, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag } from './bag.ts';

export function decodeAnnotation(wire: Fields): Annotation {
  const citation = wire.url_citation;
  if (!isObject(citation)) return { kind: wire.type === 'file' ? 'file' : 'other', ...bag.keep(wire) };
  return {
    kind: 'url',
    url: readString(citation.url),
    title: readString(citation.title),
    start: toCount(citation.start_index),
    end: toCount(citation.end_index),
    // OpenRouter adds the cited passage.
    citedText: readString(citation.content),
    ...bag.keep(pickUnread(citation, ['url', 'title', 'start_index', 'end_index', 'content'])),
  };
}

/** `start` and `end` replace missing offsets. Returns undefined for kinds that this protocol lacks. */
export function encodeAnnotation(annotation: Annotation, start: number, end: number): Fields | undefined {
  const rest = bag.getFields(annotation);
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
