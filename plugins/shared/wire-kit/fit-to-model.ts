/** Fits a request's parameters, output limit and output modalities to the model. */
import type { Model, CanonicalRequest } from '../../../core/index.ts';
import { refuse, type Lose } from './losses.ts';

/** The owner of a model, with which its id begins. */
export function readOwner({ id }: Pick<Model, 'id'>): string {
  return id.slice(0, id.indexOf('/'));
}

/** Whether the model lists a parameter as supported. A model without a list takes all. */
export function listsParameter({ supportedParameters }: Model, name: string): boolean {
  return supportedParameters.length === 0 || supportedParameters.includes(name);
}

/**
 * The output limit, or the nearest one that the model accepts: providers refuse a limit above the model's
 * own, and most refuse zero. `least`: the minimum of the wire.
 */
export function fitLimit(
  limit: number | undefined,
  { outputLimit }: Model,
  { least = 1, lose }: { readonly least?: number; readonly lose: Lose },
): number | undefined {
  if (limit === undefined || (limit >= least && limit <= outputLimit)) return limit;
  const [sent, reason] =
    limit < least ? [least, 'least this wire takes'] : [outputLimit, 'most the model gives'];
  lose('outputLimit', `sent as ${sent}, the ${reason}`, 'approximated');
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
    refuse(
      'modalities',
      `This model returns ${output.join(' and ')} only; the request asks for ${modalities.join(' and ')}.`,
    );
  }
  if (made.length < modalities.length) lose('modalities', `the model gives ${output.join(' and ')}`, 'model');
  return made.some((modality) => modality !== 'text') ? made : undefined;
}
