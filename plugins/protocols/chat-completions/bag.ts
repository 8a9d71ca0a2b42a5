/** The protocol's name, and its bag of vendor fields and flags in the canonical form. */
import { createBag } from '../../shared/wire-kit/vendor-bag.ts';

export const protocolName = 'chat-completions';
export const bag = createBag(protocolName);
