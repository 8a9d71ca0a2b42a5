/**
 * Documents made of texts and pictures. Only this protocol has them, so their parts become blocks of the
 * conversation. The form of the first part records the number of parts, and which of its fields belong to the
 * document.
 */
import type { Block } from '../../../core/index.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag } from './bag.ts';

const mark = 'composed';
const outside: ReadonlySet<string> = new Set(['type', 'source']);

/** Splits a document into its parts. `sides` returns the document's own fields for the first part. */
export function splitDocument(
  document: Fields,
  parts: readonly Block[],
  sides: (names: readonly string[]) => Partial<Block>,
): Block[] {
  const names = Object.keys(document).filter((name) => !outside.has(name));
  return parts.map((part, place) =>
    place === 0 ? Object.assign({}, part, sides([mark, String(parts.length), ...names])) : part,
  );
}

/** Joins the parts of documents again. `written` holds the wire blocks of each canonical block. */
export function joinDocuments(blocks: readonly Block[], written: readonly Fields[][]): Fields[] {
  const whole: Fields[] = [];
  for (let place = 0; place < blocks.length; place += 1) {
    const [word, size, ...names] = bag.getForm(blocks[place]);
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
