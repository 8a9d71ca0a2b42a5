/** What is left of the limits, in the headers that clients of each family read. */
import type { Left } from './allowance.ts';

export type Tightest = Partial<Record<'requests' | 'tokens', Left>>;

type Headers = Record<string, string>;

/** OpenAI writes a duration, such as `1s` or `6m0s`. */
function formatDuration(milliseconds: number): string {
  const seconds = Math.ceil(milliseconds / 1000);
  const minutes = Math.floor(seconds / 60);
  return minutes > 0 ? `${minutes}m${seconds % 60}s` : `${seconds}s`;
}

function buildPlainHeaders(name: string, { limit, remaining, resetAfter }: Left): Headers {
  return {
    [`x-ratelimit-limit-${name}`]: String(limit),
    [`x-ratelimit-remaining-${name}`]: String(remaining),
    [`x-ratelimit-reset-${name}`]: formatDuration(resetAfter),
  };
}

/** Anthropic writes the time itself. */
function buildMessagesHeaders(name: string, { limit, remaining, resetAfter }: Left): Headers {
  const reset = new Date(Date.now() + resetAfter).toISOString().replace(/\.\d+Z$/, 'Z');
  return {
    [`anthropic-ratelimit-${name}-limit`]: String(limit),
    [`anthropic-ratelimit-${name}-remaining`]: String(remaining),
    [`anthropic-ratelimit-${name}-reset`]: reset,
  };
}

export function buildHeaders(family: string, tightest: Tightest): Headers {
  const build = family === 'messages' ? buildMessagesHeaders : buildPlainHeaders;
  return Object.assign({}, ...Object.entries(tightest).map(([name, left]) => build(name, left)));
}
