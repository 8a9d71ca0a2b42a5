/** The protocol's name, its slots on canonical things, and the vendor whose wire it is. */
import { bagOf } from '../../shared/wire-kit/vendor-bag.ts';

export const protocolName = 'messages';
export const bag = bagOf(protocolName);
/** Whose file ids, signatures and encrypted thoughts this wire speaks of. */
export const nativeVendor = 'anthropic';
