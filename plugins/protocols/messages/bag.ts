/** The protocol's name, its bag of vendor fields and notes, and the vendor that defines it. */
import { createBag } from '../../shared/wire-kit/vendor-bag.ts';

export const protocolName = 'messages';
export const bag = createBag(protocolName);
/** The vendor of this protocol's file ids, signatures and encrypted reasoning. */
export const nativeVendor = 'anthropic';
