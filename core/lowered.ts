/** A limit of output that was lowered to what a call is granted: its caller is told, as of a loss, though no call is refused for it. */
import { outputBound } from './bound.ts';
import type { Routed } from './exchange.ts';
import type { Loss } from './loss.ts';

export function loweredLimit(exchange: Routed): readonly Loss[] {
  const { call, grant, attempt } = exchange;
  const { model } = attempt.target;
  const limit = outputBound(call, model, grant.outputLimit);
  if (limit >= outputBound(call, model, undefined)) return [];
  return [{ path: limitField(exchange), reason: `sent as ${limit}, all that this call is granted`, code: 'approximated' }];
}

/** As the client calls it, be it that it stated none. */
function limitField({ protocol, canonical }: Routed): string {
  const { outputLimit: usual = 'outputLimit' } = protocol.client.fieldNames;
  try {
    return canonical().names?.['outputLimit'] ?? usual;
  } catch {
    // What goes on as it is need not be understood here.
    return usual;
  }
}
