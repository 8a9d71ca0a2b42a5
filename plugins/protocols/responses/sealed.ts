/**
 * Sealed state in this wire's one slot for it, `encrypted_content` of a reasoning item. The native vendor's stands
 * there as it is, that of others in an envelope. State that belongs to a tool call, or to text or a picture, travels
 * in a reasoning item of its own, whose envelope says whose it is: the call by its id, other things by standing
 * right before that item.
 */
import type { Opaque } from '../../../core/index.ts';
import { seal, unsealOwned } from '../../shared/wire-kit/envelope.ts';
import { nativeVendor } from './bag.ts';

const nativeKind = 'encrypted';
const blockBefore = 'the block before';

/** Whose the state is: reasoning's own, unless it is a tool call's (told by its id) or the block's before. */
export type Owner = { readonly call: string } | 'block' | undefined;

export interface Sealed {
  readonly opaque: Opaque;
  readonly owner: Owner;
}

/** Vendors beside the native one that seal what their models think, by the owners of the models. */
const otherSealers: ReadonlySet<string> = new Set(['xai']);

/** Who seals what a model thinks. */
export function findSealer(model: string): string {
  const owner = model.slice(0, Math.max(0, model.indexOf('/')));
  return otherSealers.has(owner) ? owner : nativeVendor;
}

/** OpenAI seals in Fernet tokens, which all begin alike. */
const fernet = /^gAAAA/;

/** Whether the content is the native vendor's beyond doubt. */
export function isNativeSeal(content: string): boolean {
  return fernet.test(content);
}

/** `sealer`: whose state it is where it stands in no envelope. */
export function readSealed(content: string, sealer: string): Sealed {
  const sealed = unsealOwned(content);
  if (!sealed)
    return {
      opaque: { vendor: isNativeSeal(content) ? nativeVendor : sealer, kind: nativeKind, value: content },
      owner: undefined,
    };
  const { opaque, owner } = sealed;
  if (owner === undefined) return { opaque, owner };
  return { opaque, owner: owner === blockBefore ? 'block' : { call: owner } };
}

export function writeSealed(opaque: Opaque, owner: Owner): string {
  if (owner !== undefined) return seal(opaque, owner === 'block' ? blockBefore : owner.call);
  return opaque.vendor === nativeVendor && opaque.kind === nativeKind ? opaque.value : seal(opaque);
}
