/** An output limit that a model takes: vendors refuse one above the model's own, and most refuse zero. */
import type { Model } from '../../../core/index.ts';
import type { Lose } from './losses.ts';

interface Fitting {
  readonly own: boolean;
  /** The least that the wire takes. */
  readonly least?: number;
  readonly lose: Lose;
}

/** The limit, or the nearest one that the model takes. A client of the vendor's own protocol gets the vendor's own error instead. */
export function fitLimit(
  limit: number | undefined,
  { outputLimit }: Model,
  { own, least = 1, lose }: Fitting,
): number | undefined {
  if (limit === undefined || own || (limit >= least && limit <= outputLimit)) return limit;
  const sent = limit < least ? least : outputLimit;
  lose(
    'outputLimit',
    limit < least
      ? `sent as ${sent}, the least this wire takes`
      : `sent as ${sent}, the most the model gives`,
    'approximated',
  );
  return sent;
}
