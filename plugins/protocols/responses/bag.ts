/** The protocol's name, its slots on canonical things, and whose models and files its wire speaks of. */
import { bagOf } from '../../shared/wire-kit/vendor-bag.ts';

export const protocolName = 'responses';
export const bag = bagOf(protocolName);

/** Sealed reasoning and file ids without an envelope are this vendor's. */
export const nativeVendor = 'openai';
