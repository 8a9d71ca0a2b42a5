/**
 * Converts the reason why a response ended, in both directions. A response has a status, and a reason if the
 * status is `incomplete`. Only its items show that the model called tools or refused.
 */
import type { FinishReason, EventOf } from '../../../core/index.ts';
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';

type Reason = EventOf<'finish'>['reason'];

const finishReasons: ReadonlyMap<string, FinishReason> = new Map([
  ['max_output_tokens', 'length'],
  ['content_filter', 'content-filter'],
]);

/** Returns undefined if the response has not ended, or has failed. */
export function decodeFinish(
  response: Fields,
  { calls, refusal }: { readonly calls: boolean; readonly refusal: boolean },
): Reason | undefined {
  const { status, incomplete_details: details } = response;
  const otherwise = refusal ? 'refusal' : 'stop';
  // Perplexity's own word for a response that waits for the results of calls.
  if (status === 'completed' || status === 'requires_action')
    return { unified: calls ? 'tool-calls' : otherwise, raw: status };
  if (status !== 'incomplete') return undefined;
  const reason = isObject(details) && typeof details.reason === 'string' ? details.reason : status;
  return { unified: finishReasons.get(reason) ?? 'other', raw: reason };
}

export interface Ending {
  readonly status: 'completed' | 'incomplete' | 'failed';
  readonly incomplete_details: { readonly reason: string } | null;
  readonly error: { readonly code: string; readonly message: string } | null;
}

const completed: Ending = { status: 'completed', incomplete_details: null, error: null };

function buildIncomplete(reason: string): Ending {
  return { status: 'incomplete', incomplete_details: { reason }, error: null };
}

/** `hasRefusal`: the reply holds a refusal as text. */
export function encodeFinish({ unified, raw }: Reason, hasRefusal: boolean): Ending {
  switch (unified) {
    case 'length':
    case 'context-length':
    // Anthropic's `pause_turn` asks the client to continue the turn. This protocol has no closer reason, and
    // none for an unknown end.
    case 'pause':
    case 'other':
      return buildIncomplete('max_output_tokens');
    case 'content-filter':
      return buildIncomplete('content_filter');
    case 'refusal':
      return hasRefusal ? completed : buildIncomplete('content_filter');
    case 'error':
      return {
        status: 'failed',
        incomplete_details: null,
        error: { code: 'server_error', message: `The provider ended the reply early: "${raw}".` },
      };
    default:
      return completed;
  }
}
