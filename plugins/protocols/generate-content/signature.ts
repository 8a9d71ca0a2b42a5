/**
 * Carries sealed state in the only field that this protocol has for it, `thoughtSignature`. Google's own
 * state goes there unchanged, another vendor's in an envelope, which is base64 too. Google documents
 * placeholders for calls without a signature; they seal nothing.
 */
import type { Opaque } from '../../../core/index.ts';
import { seal, unseal } from '../../shared/wire-kit/envelope.ts';
import type { Sides } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, vendorName, type Form, type Base64Form } from './bag.ts';

const kind = 'signature';
/** Google accepts these in place of a signature. The gateway sends the first. */
export const placeholders = [
  'context_engineering_is_the_way_to_go',
  'skip_thought_signature_validator',
] as const;

interface ReadSignature {
  readonly opaque: readonly Opaque[];
  /** The placeholder, or notes on how the base64 was written. */
  readonly form: readonly Form[];
}

function isPlaceholder(text: string): boolean {
  return text === '' || placeholders.some((known) => known === text);
}

export function readSignature(text: unknown): ReadSignature {
  if (typeof text !== 'string') return { opaque: [], form: [] };
  if (isPlaceholder(text)) return { opaque: [], form: [`signature:${text}`] };
  const { data, form } = readBase64(text);
  return {
    opaque: [unseal(data) ?? { vendor: vendorName, kind, value: data }],
    form: form.map((each) => `signature:${each}` as const),
  };
}

export function isNative(opaque: Opaque): boolean {
  return opaque.vendor === vendorName && opaque.kind === kind;
}

/** Writes sealed state of a reply for the client. */
export function writeSignature(opaque: Opaque): string {
  return isNative(opaque) ? opaque.value : seal(opaque);
}

/** Returns the signature of a request's part: Google's own, or the placeholder that the client wrote. */
export function restoreSignature(opaque: readonly Opaque[] | undefined, part: Sides): string | undefined {
  const notes = bag.listNotes(part, 'signature');
  const own = opaque?.find(isNative);
  return own ? writeBase64(own.value, notes) : notes.find(isPlaceholder);
}

interface ReadBase64 {
  readonly data: string;
  /** Empty if the text was in the standard alphabet, with padding. */
  readonly form: readonly Base64Form[];
}

/** Converts base64 to the standard alphabet. Text that mixes both alphabets stays unchanged. */
export function readBase64(text: string): ReadBase64 {
  const isUrlSafe = text.includes('-') || text.includes('_');
  if (isUrlSafe && (text.includes('+') || text.includes('/'))) return { data: text, form: [] };
  const data = isUrlSafe ? text.replaceAll('-', '+').replaceAll('_', '/') : text;
  const missing = (4 - (data.length % 4)) % 4;
  const lacksPadding = missing === 1 || missing === 2;
  return {
    data: lacksPadding ? data + '='.repeat(missing) : data,
    form: [...(isUrlSafe ? (['url-safe'] as const) : []), ...(lacksPadding ? (['unpadded'] as const) : [])],
  };
}

export function writeBase64(data: string, form: readonly string[]): string {
  const text = form.includes('url-safe') ? data.replaceAll('+', '-').replaceAll('/', '_') : data;
  return form.includes('unpadded') ? text.replace(/={1,2}$/, '') : text;
}
