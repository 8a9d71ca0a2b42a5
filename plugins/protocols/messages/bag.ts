/** The protocol's name, its vendor bag, and its vendor. */
import { bagOf } from '../../shared/wire-kit/vendor-bag.ts';

export const protocolName = 'messages';
export const bag = bagOf(protocolName);
/** The vendor of this protocol's file ids, signatures and encrypted reasoning. */
export const nativeVendor = 'anthropic';
