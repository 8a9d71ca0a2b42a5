/** Google's thought signatures. Its chat endpoint keeps them in `extra_content.google.thought_signature`. */
import type { Opaque } from '../../../core/index.ts';
import { unseal } from '../../shared/wire-kit/envelope.ts';
import { isObject, pickUnread, nestFields, type Fields } from '../../shared/wire-kit/vendor-bag.ts';

export function readSignatures(extra: unknown): { readonly opaque: Opaque[]; readonly rest: Fields } {
  if (!isObject(extra)) return { opaque: [], rest: {} };
  const opaque: Opaque[] = [];
  const rest = Object.entries(extra).flatMap(([vendor, fields]) => {
    const value = isObject(fields) ? fields.thought_signature : undefined;
    if (!isObject(fields) || typeof value !== 'string') return [[vendor, fields]];
    opaque.push(unseal(value) ?? { vendor, kind: 'signature', value });
    return Object.entries(nestFields(vendor, pickUnread(fields, ['thought_signature'])));
  });
  return { opaque, rest: Object.fromEntries(rest) };
}

/** Builds the field of a call or an image that holds its signatures. `write` may put them in an envelope. */
export function writeSignatures(opaque: readonly Opaque[], write: (state: Opaque) => string): Fields {
  if (opaque.length === 0) return {};
  const entries = opaque.map((state) => [state.vendor, { thought_signature: write(state) }]);
  return { extra_content: Object.fromEntries(entries) };
}
