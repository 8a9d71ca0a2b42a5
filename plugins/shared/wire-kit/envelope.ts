/**
 * Sealed state of one vendor in the opaque slot of another's protocol. The envelope says whose it is and of what kind,
 * and opens to the same bytes that went in. It is plain base64, since generate-content takes nothing else in its slot.
 * All envelopes begin alike, so that a search finds bodies that hold one.
 */
import type { Opaque } from '../../../core/index.ts';

/** Twelve bytes, whose base64 does not depend on what follows them. */
const magic = 'tollgate-v1\n';

/** How every envelope begins. */
export const envelopeMark = Buffer.from(magic).toString('base64');

/** The mark without its first letter. A search begins with the first letter, and that one is frequent in any text. */
const seldom = envelopeMark.slice(1);

/** Whether a text may hold an envelope. */
export function holdsEnvelope(text: string): boolean {
  return text.includes(seldom);
}

/** Stands between the kind of a state and its owner. No kind contains it, but an owner may. */
const ownerMark = ' of ';

/** Puts sealed state into an envelope. `owner` is what the state belongs to, where that is not the block in which it stands. */
export function seal({ vendor, kind, value }: Opaque, owner?: string): string {
  const label = owner === undefined ? kind : kind + ownerMark + owner;
  return Buffer.from(magic + JSON.stringify([vendor, label, value])).toString('base64');
}

/** The state in an envelope; undefined where the text is no envelope, or no longer whole. */
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

/** The state in an envelope, and the owner that it was sealed with. */
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
