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

const stateFields = ['previous_response_id', 'conversation', 'prompt', 'background'] as const;

/** Refuses fields about state that the gateway does not keep. */
export function checkState(wire: Wire.Request, operation: Operation, keeps: boolean): void {
  if (keeps && wire.background && operation === 'generate') checkBackground(wire);
  for (const field of stateFields) {
    if (keeps && field !== 'prompt') continue;
    const value = wire[field];
    if (value === undefined || value === null || value === false) continue;
    if (field === 'previous_response_id' || field === 'conversation')
      throw buildReferenceError(field, 'leave it out, and send the entire conversation as "input"');
    const needed = keeps ? 'stored prompts' : 'stored responses';
    throw new GatewayError(
      'unsupported_parameter',
      `"${field}" needs ${needed}, and the gateway stores none: leave it out.`,
      { param: field },
    );
  }
}

function checkBackground({ store, stream }: Wire.Request): void {
  if (store === false)
    throw buildFieldError('store', 'is false, and a background response is read from the store', 'true');
  if (stream)
    throw new GatewayError(
      'unsupported_parameter',
      '"stream" is not supported together with "background": leave it out, and poll the response.',
      { param: 'stream' },
    );
}
