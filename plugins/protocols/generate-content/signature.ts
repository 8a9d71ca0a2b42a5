/**
 * Sealed state in this wire's one slot, `thoughtSignature`: Google's own as it is, another vendor's in an envelope,
 * which is base64 as well. The placeholders Google documents for calls that have no signature seal nothing.
 */
import type { Opaque } from '../../../core/index.ts';
import { seal, unseal } from '../../shared/wire-kit/envelope.ts';
import { vendorName } from './bag.ts';
import { readBase64, writeBase64 } from './base64.ts';

const kind = 'signature';
/** What Google takes in place of a signature, the one we send first. */
export const placeholders = [
  'context_engineering_is_the_way_to_go',
  'skip_thought_signature_validator',
] as const;
const mark = 'signature:';

export interface ReadSignature {
  readonly opaque: readonly Opaque[];
  /** A placeholder, or the base64 the signature was written in. */
  readonly form: readonly string[];
}

export function readSignature(text: string | null | undefined): ReadSignature {
  if (!text) return { opaque: [], form: text === '' ? [mark] : [] };
  if (placeholders.some((word) => word === text)) return { opaque: [], form: [mark + text] };
  const { data, form } = readBase64(text);
  return {
    opaque: [unseal(data) ?? { vendor: vendorName, kind, value: data }],
    form: form.map((word) => mark + word),
  };
}

export function isNative({ vendor, kind: what }: Opaque): boolean {
  return vendor === vendorName && what === kind;
}

/** A reply's sealed state as the slot holds it. */
export function writeSignature(opaque: Opaque): string {
  return isNative(opaque) ? opaque.value : seal(opaque);
}

/** What goes into the slot of a request's part: Google's own signature, or the placeholder that its client wrote; undefined where nothing does. */
export function restoreSignature(
  opaque: readonly Opaque[] | undefined,
  form: readonly string[],
): string | undefined {
  const words = form.filter((word) => word.startsWith(mark)).map((word) => word.slice(mark.length));
  const own = opaque?.find(isNative);
  if (own) return writeBase64(own.value, words);
  return words.find((word) => word === '' || placeholders.some((known) => known === word));
}
