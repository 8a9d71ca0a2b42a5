/**
 * Fits a request's output limit and output modalities to the model.
 */
import { GatewayError, type Model, type CanonicalRequest } from '../../../core/index.ts';
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

/** The modalities that the model is listed with; undefined where only text is left, which is the default. Throws where nothing is left. */
export function fitModalities(
  { modalities }: CanonicalRequest,
  { output }: Pick<Model, 'output'>,
  { own, lose }: { readonly own: boolean; readonly lose: Lose },
): readonly string[] | undefined {
  if (own || !modalities) return modalities;
  const made = modalities.filter(
    (modality) => modality === 'text' || output.some((each) => each === modality),
  );
  if (made.length === 0 && modalities.length > 0) {
    throw new GatewayError(
      'unsupported_parameter',
      `This model gives ${output.join(' and ')} only, and is asked for ${modalities.join(' and ')}.`,
      { param: 'modalities' },
    );
  }
  if (made.length < modalities.length) lose('modalities', `the model gives ${output.join(' and ')}`, 'model');
  return made.some((modality) => modality !== 'text') ? made : undefined;
}
