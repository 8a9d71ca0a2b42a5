/** The protocol's name, its bag of vendor fields and notes, and the vendor that defines it. */
import { createBag } from '../../shared/wire-kit/vendor-bag.ts';

export const protocolName = 'responses';
export const bag = createBag(protocolName);

/** Sealed reasoning and file ids without an envelope belong to this vendor. */
export const nativeVendor = 'openai';
