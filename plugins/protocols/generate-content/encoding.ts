/** The facts that decide how one request is encoded. */
import type { CanonicalRequest, Model } from '../../../core/index.ts';
import type { Lose } from '../../shared/wire-kit/losses.ts';
import { bag, vendorName } from './bag.ts';

export interface Encoding {
  /** The request was read in this protocol, so what the client wrote is restored. */
  readonly own: boolean;
  /** The model is Google's own. Only Google can read the state that it sealed. */
  readonly native: boolean;
  /** The model is Gemini 3 or later. These check signatures, and take files inside tool results. */
  readonly modern: boolean;
  readonly lose: Lose;
}

/** A name without a version, such as `gemini-flash-latest`, is a modern model's. */
function isModern({ upstream }: Model): boolean {
  const [, version] = /gemini-(?:[a-z]+-)*(\d+)?/.exec(upstream) ?? [];
  return upstream.includes('gemini') && Number(version ?? Infinity) >= 3;
}

function isNative({ id }: Model): boolean {
  return id.startsWith(`${vendorName}/`);
}

/** True if the model refuses a call of the current turn without a signature. */
export function checksSignatures(model: Model): boolean {
  return isNative(model) && isModern(model);
}

export function encodingFor(request: CanonicalRequest, model: Model, lose: Lose): Encoding {
  return { own: bag.has(request, 'read'), native: isNative(model), modern: isModern(model), lose };
}
