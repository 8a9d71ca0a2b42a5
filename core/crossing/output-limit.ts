/** An output limit that was lowered to what a call is granted. The caller is told as of a loss, though no call is refused for it. */
import { outputBound } from '../billing/cost-bounds.ts';
import type { Routed } from '../exchange.ts';
import type { Loss } from '../loss.ts';

export function loweredLimit(exchange: Routed): readonly Loss[] {
  const { call, grant, attempt } = exchange;
  const { model } = attempt.target;
  const limit = outputBound(call, model, grant.outputLimit);
  if (limit >= outputBound(call, model, undefined)) return [];
  return [
    {
      path: limitField(exchange),
      reason: `sent as ${limit}, all that this call is granted`,
      code: 'approximated',
    },
  ];
}

/** The name the client has for the limit, whether it stated one or not. */
function limitField({ protocol, canonical }: Routed): string {
  const { outputLimit: usual = 'outputLimit' } = protocol.client.fieldNames;
  try {
    return canonical().names?.outputLimit ?? usual;
  } catch {
    // A body that goes on verbatim may be one that cannot be decoded here.
    return usual;
  }
}
