/**
 * Why a response ended, in both directions. This wire has a status for that, with a reason where it is incomplete;
 * that tools were called, or that the model refused, is seen from the items alone.
 */
import type { CanonicalEvent, FinishReason } from '../../../core/index.ts';
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';

type Reason = Extract<CanonicalEvent, { type: 'finish' }>['reason'];

/** What the items of a reply hold. */
export interface Contents {
  readonly calls: boolean;
  readonly refusal: boolean;
}

const read: ReadonlyMap<string, FinishReason> = new Map([
  ['max_output_tokens', 'length'],
  ['content_filter', 'content-filter'],
]);

/** Undefined where the response has not ended, or did not end well. */
export function decodeFinish(response: Fields, { calls, refusal }: Contents): Reason | undefined {
  const { status, incomplete_details: details } = response;
  if (status === 'completed')
    return { unified: calls ? 'tool-calls' : refusal ? 'refusal' : 'stop', raw: status };
  if (status !== 'incomplete') return undefined;
  const reason = isObject(details) && typeof details.reason === 'string' ? details.reason : status;
  return { unified: read.get(reason) ?? 'other', raw: reason };
}

export interface Ending {
  readonly status: 'completed' | 'incomplete' | 'failed';
  readonly incomplete_details: { readonly reason: string } | null;
  readonly error: { readonly code: string; readonly message: string } | null;
}

const completed: Ending = { status: 'completed', incomplete_details: null, error: null };

function incomplete(reason: string): Ending {
  return { status: 'incomplete', incomplete_details: { reason }, error: null };
}

/** Passed why, with the vendor's own word for it, and what the items hold. */
export function encodeFinish({ unified, raw }: Reason, { refusal }: Contents): Ending {
  switch (unified) {
    case 'length':
    case 'context-length':
    // Claude's `pause_turn`: the turn is to be continued, and this wire has no other word for that.
    case 'pause':
      return incomplete('max_output_tokens');
    case 'content-filter':
      return incomplete('content_filter');
    case 'refusal':
      return refusal ? completed : incomplete('content_filter');
    case 'error':
      return {
        status: 'failed',
        incomplete_details: null,
        error: { code: 'server_error', message: `The model broke off its reply: "${raw}".` },
      };
    default:
      return completed;
  }
}
