/** The protocol's name, its vendor, and its bag of the vendor's fields that have no canonical name. */
import { createBag } from '../../shared/wire-kit/vendor-bag.ts';

export const protocolName = 'generate-content';
/** The owner of the models that can read this protocol's signatures and files. */
export const vendorName = 'google';

export const bag = createBag(protocolName);
