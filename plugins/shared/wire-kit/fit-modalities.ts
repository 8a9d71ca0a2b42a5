/** Fits the wanted modalities of a reply to those that the model makes. Where it makes none of them, the call is refused. */
import { GatewayError, type CanonicalRequest, type Model } from '../../../core/index.ts';
import type { Lose } from './losses.ts';

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
