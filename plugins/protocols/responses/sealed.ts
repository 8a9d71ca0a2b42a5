/**
 * Carries sealed state in the only field that this protocol has for it: `encrypted_content` of a reasoning
 * item. OpenAI's state goes there unchanged, other vendors' state in an envelope. State of a tool call, a
 * text or an image gets a reasoning item of its own. The envelope names its owner: the call by its id, or the
 * block right before the item.
 */
import type { Opaque } from '../../../core/index.ts';
import { seal, unsealOwned } from '../../shared/wire-kit/envelope.ts';
import { nativeVendor } from './bag.ts';

const nativeKind = 'encrypted';
const blockBefore = 'the block before';

/** The owner of the state: a tool call, the block before, or (if undefined) the reasoning item itself. */
export type Owner = { readonly call: string } | 'block' | undefined;

export interface Sealed {
  readonly opaque: Opaque;
  readonly owner: Owner;
}

/** Owners of models, other than OpenAI, that seal reasoning themselves. */
const otherSealers: ReadonlySet<string> = new Set(['xai']);

/** Returns the vendor that seals a model's reasoning. `model` is `<owner>/<name>`. */
export function findSealer(model: string): string {
  const owner = model.slice(0, Math.max(0, model.indexOf('/')));
  return otherSealers.has(owner) ? owner : nativeVendor;
}

/** OpenAI's sealed state is a Fernet token. All Fernet tokens begin like this. */
const fernet = /^gAAAA/;

export function isNativeSeal(content: string): boolean {
  return fernet.test(content);
}

/** `sealer` is the vendor of state that has no envelope. */
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
