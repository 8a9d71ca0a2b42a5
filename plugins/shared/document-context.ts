/** What a client says of a document beside what it holds: most wires have no place for that but text before the document. */
import type { Block } from '../../core/index.ts';
import type { Lose } from './losses.ts';

/** The text to put before a medium, told as such; undefined where nothing is said of it. */
export function contextOf({ context }: Extract<Block, { type: 'media' }>, path: string, lose: Lose): string | undefined {
  if (context !== undefined) lose(`${path}.context`, 'sent as text before the document', 'approximated');
  return context;
}
