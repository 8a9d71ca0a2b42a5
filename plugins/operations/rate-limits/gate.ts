/**
 * Takes what each call needs from the limits of its key and its account, reports to the client what is left,
 * and returns the rest at the end.
 */
import { z } from 'zod';
import {
  GatewayError,
  estimateInput,
  findCount,
  type End,
  type Planned,
  type Principal,
} from '../../../core/index.ts';
import type { Counts, Left, Want } from './counter.ts';

export const limitsSchema = z.strictObject({
  /** Calls in a window. */
  requests: z.int().positive().optional(),
  /** Tokens of input and output in a window. */
  tokens: z.int().positive().optional(),
  /** Concurrent calls. */
  parallel: z.int().positive().optional(),
});

export type Limits = z.output<typeof limitsSchema>;

/** The key or the account, with its limits. */
export interface Party {
  readonly whose: Want['whose'];
  readonly limits: Limits;
}

function estimateTokens({ call, operation, targets }: Planned): number {
  const [first] = targets;
  return operation === 'count' || !first ? 0 : estimateInput(call, first.model);
}

/** Everything a call needs. Concurrent calls come first, since they are cheap to give back. */
function listWants(parties: readonly Party[], principal: Principal, tokens: number): Want[] {
  const wants: Want[] = [];
  for (const kind of ['parallel', 'requests', 'tokens'] as const) {
    for (const { whose, limits } of parties) {
      const limit = limits[kind];
      if (limit !== undefined)
        wants.push({ whose, name: principal[whose], kind, limit, amount: kind === 'tokens' ? tokens : 1 });
    }
  }
  return wants;
}

/** What one call has taken, which is given back or corrected at its end. */
interface Taken {
  readonly wants: readonly Want[];
  readonly from: Counts;
  /** When the window of each want ends, by the process's own clock. */
  readonly until: readonly number[];
}

export class Gate {
  readonly #parties: readonly Party[];
  readonly #window: number;
  readonly #counts: Counts;
  readonly #taken = new Map<string, Taken>();

  constructor(parties: readonly Party[], window: number, counts: Counts) {
    this.#parties = parties;
    this.#window = window;
    this.#counts = counts;
  }

  /** Takes everything the call needs, or nothing. Returns the headers that report what is left. */
  async enter(planned: Planned): Promise<Record<string, string>> {
    const { id, family, principal } = planned;
    const wants = listWants(this.#parties, principal, estimateTokens(planned));
    const neverFits = wants.find(({ amount, limit }) => amount > limit);
    if (neverFits) {
      const { amount, limit, whose } = neverFits;
      throw new GatewayError(
        'body_too_large',
        `This call of about ${amount} tokens is more than the ${limit} this ${whose} may use ` +
          `in ${this.#window} seconds.`,
      );
    }
    const { left, refused, from } = await this.#counts.take(id, wants);
    const last = left.at(-1);
    const want = wants[left.length - 1];
    if (refused && last && want) throw this.#buildLimitError(want, last, family);
    const now = performance.now();
    this.#taken.set(id, { wants, from, until: left.map(({ resetAfter }) => now + resetAfter) });
    const tightest: Tightest = {};
    for (const [index, { kind }] of wants.entries()) {
      const one = left[index];
      // Of the key and the account, the client sees the one with less left.
      if (one && kind !== 'parallel' && one.remaining <= (tightest[kind]?.remaining ?? Infinity))
        tightest[kind] = one;
    }
    return buildHeaders(family, tightest);
  }

  #buildLimitError({ whose, kind, limit }: Want, left: Left, family: string): GatewayError {
    const retryAfter = Math.max(1, Math.ceil(left.resetAfter / 1000));
    if (kind === 'parallel')
      return new GatewayError(
        'rate_limited',
        `This ${whose} may make ${limit} concurrent calls. Try again later.`,
        { retryAfter },
      );
    const headers = buildHeaders(family, { [kind]: left });
    return new GatewayError(
      'rate_limited',
      `This ${whose} may use ${limit} ${kind} in ${this.#window} seconds. Try again later.`,
      { retryAfter, headers },
    );
  }

  /** Runs once for each call that entered, even if another plugin refused it afterwards. */
  async leave(end: End): Promise<void> {
    const { exchange, type } = end;
    const taken = this.#taken.get(exchange.id);
    if (!taken) return;
    this.#taken.delete(exchange.id);
    const { uses } = type === 'answered' || type === 'failed' ? end.charge : { uses: [] };
    const tokens = (findCount(uses, 'input') ?? 0) + (findCount(uses, 'output') ?? 0);
    // A refused call does not count as a request; one that failed does.
    const used = { parallel: 0, requests: type === 'refused' ? 0 : 1, tokens };
    const back = taken.wants.map((want) => ({ ...want, amount: want.amount - used[want.kind] }));
    const now = performance.now();
    // Unused tokens need not be given back after the end of their window, but tokens that are owed count in
    // the next one.
    const isOver = ({ kind, amount }: Want, index: number): boolean =>
      kind !== 'parallel' && amount > 0 && now >= (taken.until[index] ?? now);
    await taken.from.give(
      exchange.id,
      back.filter((want, index) => want.amount !== 0 && !isOver(want, index)),
    );
  }
}

/** What is left of the limits, in the headers that clients of each family read. */
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
