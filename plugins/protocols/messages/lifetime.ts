/** How long a vendor keeps what a call asked it to cache. */
import { knownCount, type ClientCall } from '../../../core/index.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { askedLifetime } from './cache.ts';
import { MessagesCall } from './read-request.ts';

/** For how long a call asks to cache what it wrote; undefined where the vendor reports no writes. */
export function lifetimeOf(
  call: ClientCall,
  { cache_creation_input_tokens: written }: Fields,
): '5m' | '1h' | undefined {
  if (!knownCount(written)) return undefined;
  return call instanceof MessagesCall ? call.lifetime : askedLifetime(call.decode());
}
