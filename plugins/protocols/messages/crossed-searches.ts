/**
 * Searches of other vendors, as blocks of this protocol: Claude Code reads the pages that a search found
 * from the block of its result, not from the citations. The blocks lack Anthropic's encrypted content, so
 * they are removed when the client sends them back.
 */
import type { ReplyContext } from '../../../core/index.ts';
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import type { WireEventBody } from './reply-events.ts';

const idPrefix = 'srvtoolu_crossed_';
const withoutIndex = /"encrypted_index":\s*""/;

export class CrossedSearches {
  readonly #context: ReplyContext;
  /** Titles of the cited pages, by URL. */
  readonly #pages = new Map<string, unknown>();
  #indices = 0;

  constructor(context: ReplyContext) {
    this.#context = context;
  }

  /** Adds the blocks of a search behind the last block, if pages are cited and a search was offered. */
  add(events: readonly WireEventBody[]): readonly WireEventBody[] {
    for (const { type, delta } of events) {
      if (type === 'content_block_start') this.#indices += 1;
      if (type === 'content_block_delta' && isObject(delta)) this.#readCitation(delta.citation);
    }
    const end = this.#pages.size > 0 ? events.findIndex(({ type }) => type === 'message_delta') : -1;
    if (end < 0 || !this.#context.call.decode().tools?.some(isSearch)) return events;
    return [...events.slice(0, end), ...this.#buildBlocks(), ...events.slice(end)];
  }

  #readCitation(citation: unknown): void {
    if (!isCrossedCitation(citation) || typeof citation.url !== 'string') return;
    this.#pages.set(citation.url, citation.title);
  }

  #buildBlocks(): WireEventBody[] {
    const id = idPrefix + this.#context.id.replaceAll(/\W/g, '');
    const content = [...this.#pages].map(([url, title]) => ({
      type: 'web_search_result',
      url,
      title,
      encrypted_content: '',
      page_age: null,
    }));
    return [
      { type: 'server_tool_use', id, name: 'web_search', input: {} },
      { type: 'web_search_tool_result', tool_use_id: id, content },
    ].flatMap((block, position) => {
      const index = this.#indices + position;
      return [
        { type: 'content_block_start', index, content_block: block },
        { type: 'content_block_stop', index },
      ];
    });
  }
}

function isSearch(tool: { readonly type: string; readonly kind?: string }): boolean {
  return tool.kind === 'web-search';
}

/** Whether a conversation may hold searches that the gateway wrote. */
export function containsCrossedSearch(text: string): boolean {
  return text.includes(idPrefix) || withoutIndex.test(text);
}

export function isCrossedBlock({ id, tool_use_id: use }: Fields): boolean {
  return [id, use].some((each) => typeof each === 'string' && each.startsWith(idPrefix));
}

function isCrossedCitation(citation: unknown): citation is Fields {
  return isObject(citation) && citation.encrypted_index === '';
}

/** The block without citations that the gateway wrote. */
export function removeCrossedCitations<Block extends Fields>(block: Block): Block {
  const { citations } = block;
  if (!Array.isArray(citations) || !citations.some(isCrossedCitation)) return block;
  const kept = citations.filter((each) => !isCrossedCitation(each));
  return { ...block, citations: kept.length > 0 ? kept : undefined };
}
