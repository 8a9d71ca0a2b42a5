/** The protocol's name, and its bag of vendor fields and notes in the canonical form. */
import { createBag } from '../../shared/wire-kit/vendor-bag.ts';

export const protocolName = 'images';
export const bag = createBag(protocolName);
