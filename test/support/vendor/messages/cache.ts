/**
 * Checks cache marks: at most four, those of an hour before those of five minutes, and none on an empty text.
 * It is also the cache itself, which knows the earlier requests.
 */
import { countAll } from '../words.ts';
import type { CountRequest } from './request.ts';

interface Mark {
  readonly ttl: '5m' | '1h';
  /** Everything up to it, in the vendor's order: tools, system, messages. */
  readonly prefix: string;
  readonly tokens: number;
}

interface Marked {
  readonly type?: unknown;
  readonly cache_control?: { readonly ttl?: '5m' | '1h' | undefined } | null | undefined;
}

function listBlocks(request: CountRequest): Marked[] {
  const system = Array.isArray(request.system) ? request.system : [];
  const content = request.messages.flatMap((message): Marked[] => {
    if (typeof message.content === 'string') return [{}];
    return message.content.flatMap((block): Marked[] => [
      ...(block.type === 'tool_result' && Array.isArray(block.content) ? block.content : []),
      block,
    ]);
  });
  return [...(request.tools ?? []), ...system, ...content];
}

function listMarks(request: CountRequest): Mark[] {
  const blocks = listBlocks(request);
  const markUpTo = (count: number, ttl: '5m' | '1h' = '5m'): Mark => {
    const before = blocks.slice(0, count);
    return { ttl, prefix: JSON.stringify([request.model, before]), tokens: countAll(before) };
  };
  const explicit = blocks.flatMap(({ cache_control: mark }, index) =>
    mark ? [markUpTo(index + 1, mark.ttl)] : [],
  );
  const { cache_control: automatic } = request;
  return automatic ? [...explicit, markUpTo(blocks.length, automatic.ttl)] : explicit;
}

export function checkCache(request: CountRequest): string | undefined {
  const marks = listMarks(request);
  if (marks.length > 4)
    return `A maximum of 4 blocks with cache_control may be provided. Found ${marks.length}.`;
  const late = marks.findIndex(
    ({ ttl }, index) => ttl === '1h' && marks.slice(0, index).some((mark) => mark.ttl === '5m'),
  );
  if (late >= 0) return "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block.";
  return undefined;
}

export interface Cached {
  readonly read: number;
  readonly written: Readonly<Record<'5m' | '1h', number>>;
}

export class PromptCache {
  readonly #known = new Set<string>();

  /** The part of a prompt that was in the cache, and the part that is written to it now. */
  use(request: CountRequest): Cached {
    const written = { '5m': 0, '1h': 0 };
    let read = 0;
    let before = 0;
    for (const { ttl, prefix, tokens } of listMarks(request)) {
      if (this.#known.has(prefix)) read = tokens;
      else written[ttl] += tokens - Math.max(before, read);
      this.#known.add(prefix);
      before = tokens;
    }
    return { read, written };
  }
}
