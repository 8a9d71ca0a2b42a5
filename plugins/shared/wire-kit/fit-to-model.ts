/** Fits a request's parameters, output limit and output modalities to the model. */
import { GatewayError, type Model, type CanonicalRequest } from '../../../core/index.ts';
import type { Lose } from './losses.ts';

/** The owner of a model, with which its id begins. */
export function readOwner({ id }: Pick<Model, 'id'>): string {
  return id.slice(0, id.indexOf('/'));
}

/** Whether the model lists a parameter as supported. A model without a list takes all. */
export function listsParameter({ supportedParameters }: Model, name: string): boolean {
  return supportedParameters.length === 0 || supportedParameters.includes(name);
}

interface LimitOptions {
  /** The minimum of the wire, usually 1. */
  readonly least?: number;
  readonly lose: Lose;
}

/**
 * The output limit, or the nearest one that the model accepts: providers refuse a limit above the model's
 * own, and most refuse zero.
 */
export function fitLimit(
  limit: number | undefined,
  { outputLimit }: Model,
  { least = 1, lose }: LimitOptions,
): number | undefined {
  if (limit === undefined || (limit >= least && limit <= outputLimit)) return limit;
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

/** The modalities that the model can make; undefined for text alone. Throws if it can make none. */
export function fitModalities(
  { modalities }: Pick<CanonicalRequest, 'modalities'>,
  { output }: Pick<Model, 'output'>,
  { lose }: { readonly lose: Lose },
): readonly string[] | undefined {
  if (!modalities) return modalities;
  const made = modalities.filter(
    (modality) => modality === 'text' || output.some((each) => each === modality),
  );
  if (made.length === 0 && modalities.length > 0) {
    throw new GatewayError(
      'unsupported_parameter',
      `This model returns ${output.join(' and ')} only; the request asks for ${modalities.join(' and ')}.`,
      { param: 'modalities' },
    );
  }
  if (made.length < modalities.length) lose('modalities', `the model gives ${output.join(' and ')}`, 'model');
  return made.some((modality) => modality !== 'text') ? made : undefined;
}
