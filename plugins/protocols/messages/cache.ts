/** Converts cache marks (`cache_control`), in both directions. Anthropic accepts four per request. */
import type { CanonicalRequest } from '../../../core/index.ts';
import type { Lose } from '../../shared/wire-kit/losses.ts';
import { findKnown } from '../../shared/wire-kit/open-values.ts';
import { pickUnread, nestFields, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import type * as Wire from './wire.ts';

type Lifetime = '5m' | '1h';

interface Mark {
  readonly ttl?: Lifetime | '30m' | '12h' | undefined;
}

export type Marked = Pick<Wire.Text, 'cache_control'>;

const times = ['5m', '1h'] as const;
const timed = new Set(['type', 'ttl']);
const untimed = new Set(['type']);
const markType = 'ephemeral';
const mostMarks = 4;

export function decodeMark({ cache_control: mark }: Marked): { cache?: Mark } {
  return mark?.type === markType ? { cache: { ttl: findKnown(mark.ttl, times) } } : {};
}

/** Returns the fields of a mark that have no canonical name. */
export function readMarkLeftover({ cache_control: mark }: Marked): Fields {
  if (!mark) return {};
  if (mark.type !== markType) return { cache_control: mark };
  return nestFields('cache_control', pickUnread(mark, findKnown(mark.ttl, times) ? timed : untimed));
}

/** Encodes the mark of a block or tool as `cache_control`. `path` is the canonical path of its owner. */
export type MarkEncoder = (mark: Mark | undefined, path: string) => Fields | undefined;

/** The encoder keeps the last four marks of a request, because they cover the most text. */
export function createMarkEncoder(request: CanonicalRequest, lose: Lose): MarkEncoder {
  const paths = listMarks(request).map(({ path }) => path);
  const tooMany = new Set(paths.slice(0, Math.max(0, paths.length - mostMarks)));
  return (mark, path) => {
    if (!mark) return undefined;
    if (tooMany.has(path)) {
      lose(`${path}.cache`, `messages accepts ${mostMarks} cache marks; the last ones are kept`);
      return undefined;
    }
    const ttl = fitLifetime(mark);
    if (ttl !== mark.ttl) lose(`${path}.cache.ttl`, `sent as "${ttl}"`, 'approximated');
    return { type: markType, ttl };
  };
}

/** The nearest lifetime that is not longer: a longer one costs more to write. */
function fitLifetime({ ttl }: Mark): Lifetime | undefined {
  if (ttl === '30m') return '5m';
  return ttl === '12h' ? '1h' : ttl;
}

interface PlacedMark {
  readonly path: string;
  readonly mark: Mark;
}

function listMarks({ tools = [], turns }: CanonicalRequest): PlacedMark[] {
  const marks: PlacedMark[] = [];
  const add = (path: string, mark: Mark | undefined): void => {
    if (mark) marks.push({ path, mark });
  };
  for (const [index, tool] of tools.entries()) add(`tools[${index}]`, tool.cache);
  for (const [index, { blocks }] of turns.entries()) {
    for (const [position, block] of blocks.entries()) {
      const path = `turns[${index}].blocks[${position}]`;
      if (block.type === 'tool-result')
        for (const [place, part] of block.content.entries()) add(`${path}.content[${place}]`, part.cache);
      add(path, block.cache);
    }
  }
  return marks;
}

/** Returns the requested cache lifetime: one hour only if all marks request it. */
export function getRequestedLifetime(request: CanonicalRequest): Lifetime {
  const marks = listMarks(request);
  return marks.length > 0 && marks.every(({ mark }) => fitLifetime(mark) === '1h') ? '1h' : '5m';
}
