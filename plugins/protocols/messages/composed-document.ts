/**
 * A document that is made of texts and pictures. No other wire has such a thing: its parts stand in the conversation
 * one by one, and the first of them remembers how many they are, and which fields of the document it holds.
 */
import type { Block } from '../../../core/index.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag } from './bag.ts';

const mark = 'composed';
const outside: ReadonlySet<string> = new Set(['type', 'source']);

/** Passed a document, its parts, and its other fields as the bag and the cache mark hold them; the answer is its parts as blocks. */
export function apart(
  document: Fields,
  parts: readonly Block[],
  sides: (names: readonly string[]) => Partial<Block>,
): Block[] {
  const names = Object.keys(document).filter((name) => !outside.has(name));
  return parts.map((part, place) =>
    place === 0 ? Object.assign({}, part, sides([mark, String(parts.length), ...names])) : part,
  );
}

/** Wire blocks of a turn, those of a document together again; `written` is what each of the blocks became. */
export function together(blocks: readonly Block[], written: readonly Fields[][]): Fields[] {
  const whole: Fields[] = [];
  for (let place = 0; place < blocks.length; place += 1) {
    const [word, size, ...names] = bag.form(blocks[place]);
    if (word !== mark) {
      for (const block of written[place] ?? []) whole.push(block);
      continue;
    }
    const [first = {}, ...others] = written.slice(place, place + Number(size)).flat();
    const fields = Object.entries(first);
    const head = Object.fromEntries(fields.filter(([name]) => names.includes(name)));
    const part = Object.fromEntries(fields.filter(([name]) => !names.includes(name)));
    whole.push({ type: 'document', ...head, source: { type: 'content', content: [part, ...others] } });
    place += Number(size) - 1;
  }
  return whole;
}
