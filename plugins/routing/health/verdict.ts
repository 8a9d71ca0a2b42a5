/** What the end of an attempt says about its target. */
import type { Attempt, ErrorCode } from '../../../core/index.ts';

type Verdict =
  /** It works: it answered, or refused the call because of what the caller sent. */
  | 'well'
  | 'fault'
  /** It takes no more calls with this key for a while. */
  | 'full'
  /** It does not take this key, or does not serve this model. */
  | 'barred'
  /** The client disconnected before the target produced output. */
  | 'unknown';

const faults: ReadonlySet<ErrorCode> = new Set(['upstream_failed', 'upstream_overloaded', 'timeout']);
const aboutKey = new Set([401, 402, 403, 429]);

export function judgeAttempt({ error, status: replied }: Attempt): Verdict {
  if (!error) return 'well';
  // MiniMax refuses a key by an error inside a good reply.
  const status = replied === 200 ? (error.details.vendor?.status ?? replied) : replied;
  if (error.code === 'client_gone') return 'unknown';
  if (error.code === 'rate_limited') return 'full';
  if (error.code === 'model_not_found') return 'barred';
  if (!faults.has(error.code)) return 'well';
  // A 429 without a rate limit is about missing credit, and some vendors answer 400 to a wrong key.
  return status !== undefined && (aboutKey.has(status) || status === 400) ? 'barred' : 'fault';
}
