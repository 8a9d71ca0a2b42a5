/**
 * Carries one vendor's opaque state in the opaque field of another vendor's protocol. The envelope names the
 * vendor and the kind of state, and opens to the same bytes. It is plain base64, because generate-content
 * accepts nothing else there. All envelopes start with the same mark, so that a search finds bodies that
 * contain one.
 */
import type { Opaque } from '../../../core/index.ts';

/** Twelve bytes: a multiple of three, so their base64 does not depend on what follows. */
const magic = 'tollgate-v1\n';

export const envelopeMark = Buffer.from(magic).toString('base64');

/** The mark without its first letter, which is frequent in any text and would slow the search down. */
const rareMark = envelopeMark.slice(1);

export function containsEnvelope(text: string): boolean {
  return text.includes(rareMark);
}

/** Separates the kind of a state from its owner. An owner may contain it, a kind never does. */
const ownerMark = ' of ';

/** Puts opaque state into an envelope. `owner` names its owner, if not the enclosing block. */
export function seal({ vendor, kind, value }: Opaque, owner?: string): string {
  const label = owner === undefined ? kind : kind + ownerMark + owner;
  return Buffer.from(magic + JSON.stringify([vendor, label, value])).toString('base64');
}

/** The state in an envelope; undefined if the text is no envelope, or a damaged one. */
export function unseal(text: string): Opaque | undefined {
  if (!text.startsWith(envelopeMark)) return undefined;
  try {
    const parts: unknown = JSON.parse(Buffer.from(text, 'base64').toString('utf8').slice(magic.length));
    if (!Array.isArray(parts) || parts.length !== 3) return undefined;
    const [vendor, kind, value]: unknown[] = parts;
    return typeof vendor === 'string' && typeof kind === 'string' && typeof value === 'string'
      ? { vendor, kind, value }
      : undefined;
  } catch {
    return undefined;
  }
}

/** The state in an envelope, and the owner given to `seal`. */
export function unsealOwned(
  text: string,
): { readonly opaque: Opaque; readonly owner: string | undefined } | undefined {
  const opaque = unseal(text);
  if (!opaque) return undefined;
  const at = opaque.kind.indexOf(ownerMark);
  if (at < 0) return { opaque, owner: undefined };
  return {
    opaque: { ...opaque, kind: opaque.kind.slice(0, at) },
    owner: opaque.kind.slice(at + ownerMark.length),
  };
}
