/**
 * Converts citations, in both directions. All kinds of this protocol quote the cited passage; only web pages
 * have a URL.
 */
import type { Annotation } from '../../../core/index.ts';
import { readString } from '../../shared/wire-kit/values.ts';
import { pickUnread, overlay, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag } from './bag.ts';

function readKind({ url, document_index: index }: Fields): Annotation['kind'] {
  if (typeof url === 'string') return 'url';
  return typeof index === 'number' ? 'file' : 'other';
}

export function decodeAnnotation(wire: Fields): Annotation {
  const { url, title, document_title: documentTitle, cited_text: citedText } = wire;
  return {
    kind: readKind(wire),
    url: readString(url),
    title: readString(title ?? documentTitle),
    citedText: readString(citedText),
    ...bag.keep(pickUnread(wire, ['url', 'title', 'cited_text'])),
  };
}

/** Reads a missing passage from `answer`. Returns undefined for kinds that this protocol lacks. */
export function encodeAnnotation(annotation: Annotation, answer: string): Fields | undefined {
  const { kind, url, title, start, end, vendor } = annotation;
  const citedText = annotation.citedText ?? (start === undefined ? undefined : answer.slice(start, end));
  const rest = bag.getFields({ vendor });
  if (rest.type !== undefined)
    return overlay(rest, { url, title: 'document_title' in rest ? undefined : title, cited_text: citedText });
  if (kind !== 'url' || url === undefined) return undefined;
  return {
    type: 'web_search_result_location',
    url,
    title: title ?? '',
    cited_text: citedText ?? '',
    encrypted_index: '',
  };
}
