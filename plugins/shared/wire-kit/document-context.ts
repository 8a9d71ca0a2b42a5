/** What a client says about a document. Most protocols only have room for that as text before the document. */
import type { Block } from '../../../core/index.ts';
import type { Lose } from './losses.ts';

/** The text to put before a document, told as an approximation; undefined where nothing is said about it. */
export function contextOf(
  { context }: Extract<Block, { type: 'media' }>,
  path: string,
  lose: Lose,
): string | undefined {
  if (context !== undefined) lose(`${path}.context`, 'sent as text before the document', 'approximated');
  return context;
}
