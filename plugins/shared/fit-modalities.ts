/** What a reply is to be made of, as far as the model makes it; where it makes none of it the call is refused. */
import { GatewayError, type CanonicalRequest, type Model } from '../../core/index.ts';
import type { Lose } from './losses.ts';

/** The modalities a model is listed with; undefined where only text is left, which goes without saying. Throws where nothing is. */
export function fitModalities({ modalities }: CanonicalRequest, { output }: Pick<Model, 'output'>, { own, lose }: { readonly own: boolean; readonly lose: Lose }): readonly string[] | undefined {
  if (own || !modalities) return modalities;
  const made = modalities.filter((modality) => modality === 'text' || output.some((each) => each === modality));
  if (made.length === 0 && modalities.length > 0) throw new GatewayError('unsupported_parameter', `This model gives ${output.join(' and ')} only, and is asked for ${modalities.join(' and ')}.`, { param: 'modalities' });
  if (made.length < modalities.length) lose('modalities', `the model gives ${output.join(' and ')}`, 'model');
  return made.some((modality) => modality !== 'text') ? made : undefined;
}
