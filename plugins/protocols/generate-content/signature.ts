/**
 * Carries sealed state in the only field that this protocol has for it, `thoughtSignature`. Google's own
 * state goes there unchanged, another vendor's in an envelope, which is base64 too. Google documents
 * placeholders for calls without a signature; they seal nothing.
 */
import type { Opaque } from '../../../core/index.ts';
import { seal, unseal } from '../../shared/wire-kit/envelope.ts';
import { vendorName } from './bag.ts';

const kind = 'signature';
/** Google accepts these in place of a signature. The gateway sends the first. */
export const placeholders = [
  'context_engineering_is_the_way_to_go',
  'skip_thought_signature_validator',
] as const;

export function readSignature(text: unknown): Opaque | undefined {
  if (typeof text !== 'string' || text === '' || placeholders.some((known) => known === text))
    return undefined;
  const value = convertBase64(text);
  return unseal(value) ?? { vendor: vendorName, kind, value };
}

export function isNative(opaque: Opaque): boolean {
  return opaque.vendor === vendorName && opaque.kind === kind;
}

/** Writes sealed state of a reply for the client. */
export function writeSignature(opaque: Opaque): string {
  return isNative(opaque) ? opaque.value : seal(opaque);
}

/** Converts base64 to the standard alphabet, with padding. Text that mixes both alphabets stays unchanged. */
export function convertBase64(text: string): string {
  const isUrlSafe = text.includes('-') || text.includes('_');
  if (isUrlSafe && (text.includes('+') || text.includes('/'))) return text;
  const data = isUrlSafe ? text.replaceAll('-', '+').replaceAll('_', '/') : text;
  const missing = (4 - (data.length % 4)) % 4;
  return missing === 1 || missing === 2 ? data + '='.repeat(missing) : data;
}
