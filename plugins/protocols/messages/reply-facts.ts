/**
 * What a reply says beside its blocks, in both directions: why it ends, what it cites, and what a search of
 * another vendor found. Claude Code reads the found pages from the block of a search's result, not from the
 * citations. Such blocks lack Anthropic's encrypted content, so they are removed when a client returns them.
 */
import { splice, type CanonicalEvent, type FinishReason, type Annotation } from '../../../core/index.ts';
import { considerCalls, readFinish } from '../../shared/vendors/finish-reason.ts';
import { parseJson } from '../../shared/wire-kit/event-data.ts';
import { readObject, readString } from '../../shared/wire-kit/values.ts';
import { splitNames, pickUnread, overlay, type Fields, isObject } from '../../shared/wire-kit/vendor-bag.ts';
import { bag } from './encoding.ts';

/**
 * An error and an unknown reason become `max_tokens`, because clients read `end_turn` as a complete answer.
 */
const encoded: Readonly<Record<FinishReason, string>> = {
  stop: 'end_turn',
  'stop-sequence': 'stop_sequence',
  length: 'max_tokens',
  'context-length': 'model_context_window_exceeded',
  'tool-calls': 'tool_use',
  'content-filter': 'refusal',
  refusal: 'refusal',
  pause: 'pause_turn',
  error: 'max_tokens',
  other: 'max_tokens',
};

/** `hasRefused`: the reply holds a refusal as text. */
export function encodeFinish(reason: FinishReason, hasCalls: boolean, hasRefused: boolean): string {
  return hasRefused && reason === 'stop' ? 'refusal' : encoded[considerCalls(reason, { any: hasCalls })];
}

/** Anthropic's words. Those it may add later mean something to its own clients, so unknown ones go on. */
const ownWords = splitNames(`
  end_turn max_tokens stop_sequence tool_use pause_turn refusal model_context_window_exceeded
`);

/**
 * Corrects the reason in a reply that goes to a client of this protocol as it is: relays pass on the words of
 * other vendors, and announce calls that they do not send, or cut off.
 */
export function correctReply(data: string, events: readonly CanonicalEvent[]): string {
  const finish = events.find((event) => event.type === 'finish');
  if (!finish) return data;
  const { unified, raw } = finish.reason;
  const stated = readFinish(raw);
  const isForeign = !ownWords.has(raw) && stated !== 'other';
  if (!isForeign && (unified === 'tool-calls' || stated === unified)) return data;
  const value = encodeFinish(unified, unified === 'tool-calls', false);
  const { type } = readObject(parseJson(data));
  if (type === 'message_delta') return splice(data, [{ path: ['delta', 'stop_reason'], value }]);
  return type === 'message' ? splice(data, [{ path: ['stop_reason'], value }]) : data;
}

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

const idPrefix = 'srvtoolu_crossed_';
const withoutIndex = /"encrypted_index":\s*""/;

/** The blocks of a search that found these pages: their titles by URL. */
export function buildSearch(pages: ReadonlyMap<string, unknown>, reply: string): Fields[] {
  const id = idPrefix + reply.replaceAll(/\W/g, '');
  const content = [...pages].map(([url, title]) => ({
    type: 'web_search_result',
    url,
    title,
    encrypted_content: '',
    page_age: null,
  }));
  return [
    { type: 'server_tool_use', id, name: 'web_search', input: {} },
    { type: 'web_search_tool_result', tool_use_id: id, content },
  ];
}

/** Whether a conversation may hold searches that the gateway wrote. */
export function containsCrossedSearch(text: string): boolean {
  return text.includes(idPrefix) || withoutIndex.test(text);
}

export function isCrossedBlock({ id, tool_use_id: use }: Fields): boolean {
  return [id, use].some((each) => typeof each === 'string' && each.startsWith(idPrefix));
}

export function isCrossedCitation(citation: unknown): citation is Fields {
  return isObject(citation) && citation.encrypted_index === '';
}

/** The block without citations that the gateway wrote. */
export function removeCrossedCitations<Block extends Fields>(block: Block): Block {
  const { citations } = block;
  if (!Array.isArray(citations) || !citations.some(isCrossedCitation)) return block;
  const kept = citations.filter((each) => !isCrossedCitation(each));
  return { ...block, citations: kept.length > 0 ? kept : undefined };
}
