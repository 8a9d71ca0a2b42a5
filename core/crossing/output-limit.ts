/**
 * Reports an output limit that was lowered to what the call is granted. It counts as a loss in the reply, but
 * never refuses the call.
 */
import { boundOutput } from '../billing/cost-bounds.ts';
import type { Routed } from '../exchange.ts';
import type { Loss } from '../loss.ts';

export function reportLoweredLimit(exchange: Routed): readonly Loss[] {
  const { call, grant, attempt } = exchange;
  const { model } = attempt.target;
  const limit = boundOutput(call, model, grant.outputLimit);
  if (limit >= boundOutput(call, model, undefined)) return [];
  return [
    {
      path: getLimitField(exchange),
      reason: `sent as ${limit}, the limit granted to this call`,
      code: 'approximated',
    },
  ];
}

/** The field that the loss names, whether the client set it or not. */
function getLimitField({ protocol, getRequest }: Routed): string {
  const { outputLimit: usual = 'outputLimit' } = protocol.client.fieldNames;
  try {
    return getRequest().names?.outputLimit ?? usual;
  } catch {
    // A body that passes verbatim may be undecodable here.
    return usual;
  }
}
