/** What the encoding of one request goes by. */
import type { CanonicalRequest, Model } from '../../../core/index.ts';
import type { Lose } from '../../shared/wire-kit/losses.ts';
import { bag, vendorName } from './bag.ts';

export interface Encoding {
  /** Whether the request was read in this protocol: then what the client wrote is restored. */
  readonly own: boolean;
  /** Whether the model is Google's own: nobody else understands state that was sealed for it. */
  readonly native: boolean;
  /** Whether it is of the third Gemini or later: those check signatures, and take files inside tool results. */
  readonly modern: boolean;
  readonly lose: Lose;
}

/** The version in a model's name; later than all that are known where the name tells none, as `gemini-flash-latest`. */
function isModern({ upstream }: Model): boolean {
  const [, version] = /gemini-(?:[a-z]+-)*(\d+)?/.exec(upstream) ?? [];
  return upstream.includes('gemini') && Number(version ?? Infinity) >= 3;
}

function isNative({ id }: Model): boolean {
  return id.startsWith(`${vendorName}/`);
}

/** Whether the model refuses a call of the current turn that has no signature. */
export function checksSignatures(model: Model): boolean {
  return isNative(model) && isModern(model);
}

export function encodingFor(request: CanonicalRequest, model: Model, lose: Encoding['lose']): Encoding {
  return { own: bag.form(request).includes('read'), native: isNative(model), modern: isModern(model), lose };
}
