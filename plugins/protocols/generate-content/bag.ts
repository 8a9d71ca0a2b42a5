/** The protocol's name, the vendor whose native wire it is, and the protocol's slots on canonical things. */
import { bagOf } from '../../shared/wire-kit/vendor-bag.ts';

export const protocolName = 'generate-content';
/** Owner of the models that read this wire's own signatures and files. */
export const vendorName = 'google';
export const bag = bagOf(protocolName);
