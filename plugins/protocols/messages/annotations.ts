/** Citations of a reply. This wire has several kinds, all of which name the passage; those of web pages have an address. */
import type { CanonicalEvent } from '../../../core/index.ts';
import { leftover, overlay, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag } from './bag.ts';

export type Annotation = Extract<CanonicalEvent, { type: 'annotation' }>['annotation'];

const citationFields = new Set(['url', 'title', 'cited_text']);

function word(name: string, value: unknown): Record<string, string> {
  return typeof value === 'string' ? { [name]: value } : {};
}

export function decodeAnnotation(wire: Fields): Annotation {
  const { url, title, document_title: documentTitle, cited_text: citedText } = wire;
  return {
    kind: typeof url === 'string' ? 'url' : typeof wire.document_index === 'number' ? 'file' : 'other',
    ...word('url', url),
    ...word('title', title ?? documentTitle),
    ...word('citedText', citedText),
    ...bag.keep(leftover(wire, citationFields)),
  };
}

/** Passed the answer so far: the passage is cut out of it where the citation does not quote it. Undefined where this wire has no such kind. */
export function encodeAnnotation(annotation: Annotation, answer: string): Fields | undefined {
  const { kind, url, title, start, end, vendor } = annotation;
  const citedText = annotation.citedText ?? (start === undefined ? undefined : answer.slice(start, end));
  const rest = bag.fields({ vendor });
  if (rest.type !== undefined)
    return overlay(rest, { url, title: 'document_title' in rest ? undefined : title, cited_text: citedText });
  if (kind !== 'url' || url === undefined) return undefined;
  return {
    type: 'web_search_result_location',
    url,
    title: title ?? null,
    cited_text: citedText ?? '',
    encrypted_index: '',
  };
}
