/**
 * Sealed state in this wire's one slot for it, `encrypted_content` of a reasoning item. The native vendor's stands
 * there as it is, that of others in an envelope. State that belongs to a tool call, or to text or a picture, travels
 * in a reasoning item of its own, whose envelope says whose it is: the call by its id, other things by standing
 * right before that item.
 */
import type { Opaque } from '../../../core/index.ts';
import { seal, unseal } from '../../shared/envelope.ts';
import { nativeVendor } from './bag.ts';

const nativeKind = 'encrypted';
const mark = ' of ';
const blockBefore = 'the block before';

/** Whose the state is: reasoning's own, unless it is a tool call's (told by its id) or the block's before. */
export type Owner = { readonly call: string } | 'block' | undefined;

export interface Sealed {
  readonly opaque: Opaque;
  readonly owner: Owner;
}

export function readSealed(content: string): Sealed {
  const opaque = unseal(content);
  if (!opaque) return { opaque: { vendor: nativeVendor, kind: nativeKind, value: content }, owner: undefined };
  const at = opaque.kind.indexOf(mark);
  if (at < 0) return { opaque, owner: undefined };
  const owner = opaque.kind.slice(at + mark.length);
  return { opaque: { ...opaque, kind: opaque.kind.slice(0, at) }, owner: owner === blockBefore ? 'block' : { call: owner } };
}

export function writeSealed(opaque: Opaque, owner: Owner): string {
  if (owner !== undefined) return seal({ ...opaque, kind: opaque.kind + mark + (owner === 'block' ? blockBefore : owner.call) });
  return opaque.vendor === nativeVendor && opaque.kind === nativeKind ? opaque.value : seal(opaque);
}
