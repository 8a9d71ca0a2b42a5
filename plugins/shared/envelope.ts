/**
 * Sealed state of one vendor in the opaque slot of another's protocol: the envelope names whose it is and what it
 * is, and opens to the very bytes that went in. It is plain base64 throughout, since generate-content takes
 * nothing else in its slot, and starts alike, so that a body which holds one is known by a search.
 */
import type { Opaque } from '../../core/index.ts';

/** Twelve bytes, so that their base64 stands apart from what follows. */
const magic = 'tollgate-v1\n';

/** How every envelope begins. */
export const envelopeMark = Buffer.from(magic).toString('base64');

/** The mark without its first letter, which is frequent in any text: a search goes by the first letter it is given. */
const seldom = envelopeMark.slice(1);

/** Whether a text may hold an envelope. */
export function holdsEnvelope(text: string): boolean {
  return text.includes(seldom);
}

/** Between the kind of a state and its owner; no kind contains it, and an owner may. */
const ownerMark = ' of ';

/** Puts sealed state into an envelope, and with it what the state belongs to, where that is not the block it stands in. */
export function seal({ vendor, kind, value }: Opaque, owner?: string): string {
  const label = owner === undefined ? kind : kind + ownerMark + owner;
  return Buffer.from(magic + JSON.stringify([vendor, label, value])).toString('base64');
}

/** The state an envelope holds; undefined for what is no envelope, or no longer whole. */
export function unseal(text: string): Opaque | undefined {
  if (!text.startsWith(envelopeMark)) return undefined;
  try {
    const parts: unknown = JSON.parse(Buffer.from(text, 'base64').toString('utf8').slice(magic.length));
    if (!Array.isArray(parts) || parts.length !== 3) return undefined;
    const [vendor, kind, value]: unknown[] = parts;
    return typeof vendor === 'string' && typeof kind === 'string' && typeof value === 'string' ? { vendor, kind, value } : undefined;
  } catch {
    return undefined;
  }
}

/** An envelope's state, and apart from it the owner it was sealed with. */
export function unsealOwned(text: string): { readonly opaque: Opaque; readonly owner: string | undefined } | undefined {
  const opaque = unseal(text);
  if (!opaque) return undefined;
  const at = opaque.kind.indexOf(ownerMark);
  if (at < 0) return { opaque, owner: undefined };
  return { opaque: { ...opaque, kind: opaque.kind.slice(0, at) }, owner: opaque.kind.slice(at + ownerMark.length) };
}
