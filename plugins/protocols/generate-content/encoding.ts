/** The facts that decide how one request is encoded. */
import type { Model } from '../../../core/index.ts';
import type { Encoding as BaseEncoding } from '../../shared/wire-kit/encoding.ts';
import { readOwner } from '../../shared/wire-kit/fit-to-model.ts';
import { vendorName } from './bag.ts';

export interface Encoding extends BaseEncoding {
  /** The model is Google's own. Only Google can read the state that it sealed. */
  readonly native: boolean;
  /** The model is Gemini 3 or later. These check signatures, and take files inside tool results. */
  readonly modern: boolean;
}

/** A name without a version, such as `gemini-flash-latest`, is a modern model's. */
export function isModern({ upstream }: Model): boolean {
  const [, version] = /gemini-(?:[a-z]+-)*(\d+)?/.exec(upstream) ?? [];
  return upstream.includes('gemini') && Number(version ?? Infinity) >= 3;
}

export function isNative(model: Model): boolean {
  return readOwner(model) === vendorName;
}

/** True if the model refuses a call of the current turn without a signature. */
export function checksSignatures(model: Model): boolean {
  return isNative(model) && isModern(model);
}
