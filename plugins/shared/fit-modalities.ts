/** What a reply is to be made of, as far as the model makes it. */
import type { CanonicalRequest, Model } from '../../core/index.ts';
import type { Lose } from './losses.ts';

/** The modalities a model is listed with; undefined where only text is left, which goes without saying. */
export function fitModalities({ modalities }: CanonicalRequest, { output }: Model, { own, lose }: { readonly own: boolean; readonly lose: Lose }): readonly string[] | undefined {
  if (own || !modalities) return modalities;
  const made = modalities.filter((modality) => modality === 'text' || output.some((each) => each === modality));
  if (made.length < modalities.length) lose('modalities', `the model gives ${output.join(' and ')}`, 'model');
  return made.some((modality) => modality !== 'text') ? made : undefined;
}
