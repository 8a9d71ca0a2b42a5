/** The fields of a request that need stored responses, and what is wrong with them without a store. */
import { GatewayError, type Operation } from '../../../core/index.ts';
import { buildFieldError } from '../../shared/wire-kit/wire-check.ts';
import type * as Wire from './wire.ts';

/**
 * Builds the error for a reference to an earlier response. The AI SDK makes one in the second turn of every
 * conversation, unless it is set up otherwise.
 */
export function buildReferenceError(field: string, instead: string): GatewayError {
  return new GatewayError(
    'unsupported_parameter',
    `"${field}" refers to a stored response, and the gateway stores none: ${instead}. In an SDK, set ` +
      '"store: false", or use the chat completions model: .chat(model) in the AI SDK.',
    { param: field },
  );
}

/** Refuses fields about state that the gateway does not keep. */
export function checkState(wire: Wire.Request, operation: Operation, keeps: boolean): void {
  for (const field of ['previous_response_id', 'conversation'] as const)
    if (!keeps && wire[field])
      throw buildReferenceError(field, 'leave it out, and send the entire conversation as "input"');
  if (wire.prompt) refuse('prompt', 'needs stored prompts, and the gateway stores none: leave it out');
  if (!wire.background || operation !== 'generate') return;
  if (!keeps) refuse('background', 'needs stored responses, and the gateway stores none: leave it out');
  if (wire.store === false)
    throw buildFieldError('store', 'is false, and a background response is read from the store', 'true');
  if (wire.stream)
    refuse('stream', 'is not supported together with "background": leave it out, and poll the response');
}

function refuse(param: string, problem: string): never {
  throw new GatewayError('unsupported_parameter', `"${param}" ${problem}.`, { param });
}
