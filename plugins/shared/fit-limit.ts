/** A limit of output that a model can keep to: vendors refuse one above their model's own. */
import type { Model } from '../../core/index.ts';
import type { Lose } from './losses.ts';

/** The limit, or the most the model gives; a client of the vendor's own protocol is left to hear that itself. */
export function fitLimit(limit: number | undefined, { outputLimit }: Model, { own, lose }: { readonly own: boolean; readonly lose: Lose }): number | undefined {
  if (limit === undefined || own || limit <= outputLimit) return limit;
  lose('outputLimit', `sent as ${outputLimit}, the most the model gives`, 'approximated');
  return outputLimit;
}
