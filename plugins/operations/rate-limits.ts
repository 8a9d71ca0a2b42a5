/**
 * How much each key and each account may call: requests and tokens within a window, and calls at one time. Nothing is
 * limited until a limit is named. Tokens are taken by an estimate when a call begins, and corrected by what it used.
 * Calls at one time are counted by each process for itself.
 */
import { z } from 'zod';
import { definePlugin, GatewayError, type End, type Host, type Planned, type Principal } from '../../core/index.ts';
import type { Allowance, Left } from './rate-limits/allowance.ts';
import { headersFor, type Told } from './rate-limits/headers.ts';
import { openAllowances, type AllowanceStore } from './rate-limits/store.ts';

const limits = z.strictObject({
  /** Calls in a window. */
  requests: z.int().positive().optional(),
  /** Tokens of input and output in a window. */
  tokens: z.int().positive().optional(),
  /** Calls that run at one time, in each process. */
  parallel: z.int().positive().optional(),
});

const options = z.strictObject({
  perKey: limits.default({}),
  perAccount: limits.default({}),
  /** Seconds of the window. */
  window: z.int().positive().default(60),
  /** A PostgreSQL that counts for all processes together; each counts for itself unless given. */
  postgres: z.string().refine((url) => /^postgres(ql)?:/.test(url) && URL.canParse(url), 'must be an address: postgres://user:password@host:5432/name').optional(),
});

type Limits = z.output<typeof limits>;
type Kind = 'requests' | 'tokens';

const bytesPerToken = 4;

/** One of the two that are limited: the key, or its account. */
interface Party {
  readonly whose: 'key' | 'account';
  readonly limits: Limits;
  readonly allowances: Partial<Record<Kind, Allowance>>;
  readonly running: Map<string, number>;
}

function partyOf(whose: Party['whose'], wanted: Limits, store: AllowanceStore): Party {
  const { requests, tokens } = wanted;
  return {
    whose,
    limits: wanted,
    running: new Map(),
    allowances: {
      ...(requests === undefined ? {} : { requests: store.allowance(`${whose}-requests`, requests) }),
      ...(tokens === undefined ? {} : { tokens: store.allowance(`${whose}-tokens`, tokens) }),
    },
  };
}

/** What one call has taken, to be given back or corrected at its end. */
interface Taken {
  readonly tokens: number;
  readonly parties: Party[];
  readonly counted: [allowance: Allowance, name: string, kind: Kind, amount: number][];
}

function estimate({ call, operation, targets }: Planned): number {
  if (operation === 'count') return 0;
  const { textBytes, images, mediaBytes } = call.size;
  return Math.ceil((textBytes + mediaBytes) / bytesPerToken) + images * (targets[0]?.model.capabilities.imageTokens ?? 0);
}

function tooMany(what: string, resetAfter: number, headers?: Record<string, string>): GatewayError {
  return new GatewayError('rate_limited', `${what}. Try again later.`, { retryAfter: Math.max(1, Math.ceil(resetAfter / 1000)), headers });
}

class Gate {
  readonly #parties: readonly Party[];
  readonly #window: number;
  readonly #taken = new Map<string, Taken>();

  constructor(parties: readonly Party[], window: number) {
    this.#parties = parties;
    this.#window = window;
  }

  /** Takes all that a call needs of all that is limited, or nothing; the answer is what its client is told. */
  async enter(planned: Planned): Promise<Record<string, string>> {
    const taken: Taken = { tokens: estimate(planned), parties: [], counted: [] };
    this.#taken.set(planned.id, taken);
    const told: Told = {};
    for (const party of this.#parties) this.#begin(party, planned.principal, taken);
    for (const party of this.#parties) {
      for (const kind of ['requests', 'tokens'] as const) {
        const left = await this.#take(party, kind, planned, taken);
        // Of a key and its account, whichever has less is told.
        if (left && left.remaining <= (told[kind]?.remaining ?? Infinity)) told[kind] = left;
      }
    }
    return headersFor(planned.family, told);
  }

  #begin(party: Party, principal: Principal, taken: Taken): void {
    const name = principal[party.whose];
    const running = party.running.get(name) ?? 0;
    if (running >= (party.limits.parallel ?? Infinity)) throw tooMany(`This ${party.whose} may make ${running} calls at one time`, 1000);
    party.running.set(name, running + 1);
    taken.parties.push(party);
  }

  async #take(party: Party, kind: Kind, { principal, family }: Planned, { tokens, counted }: Taken): Promise<Left | undefined> {
    const allowance = party.allowances[kind];
    const amount = kind === 'requests' ? 1 : tokens;
    if (!allowance) return undefined;
    const { limit } = allowance;
    if (amount > limit) throw new GatewayError('body_too_large', `This call of about ${amount} tokens is more than the ${limit} this ${party.whose} may use in ${this.#window} seconds.`);
    const name = principal[party.whose];
    const left = await allowance.take(name, amount);
    if (!left.taken) throw tooMany(`This ${party.whose} may use ${limit} ${kind} in ${this.#window} seconds`, left.resetAfter, headersFor(family, { [kind]: left }));
    counted.push([allowance, name, kind, amount]);
    return left;
  }

  /** Every call that entered, and every one that was refused on its way in, leaves once. */
  async leave(end: End): Promise<void> {
    const { exchange, type } = end;
    const taken = this.#taken.get(exchange.id);
    if (!taken || !exchange.principal) return;
    this.#taken.delete(exchange.id);
    for (const { running, whose } of taken.parties) {
      const name = exchange.principal[whose];
      const count = (running.get(name) ?? 1) - 1;
      if (count > 0) running.set(name, count);
      else running.delete(name);
    }
    const { input = 0, output = 0 } = type === 'answered' || type === 'failed' ? end.charge.usage : {};
    for (const [allowance, name, kind, amount] of taken.counted) {
      // A call that was refused further in did not take place; one that failed was a call.
      if (kind === 'tokens') await allowance.correct(name, input + output - amount);
      else if (type === 'refused') await allowance.correct(name, -amount);
    }
  }
}

function isLimited({ requests, tokens, parallel }: Limits): boolean {
  return requests !== undefined || tokens !== undefined || parallel !== undefined;
}

function openGate({ hooks, resource }: Host, { perKey, perAccount, window, postgres }: z.output<typeof options>): void {
  let gate: Gate | undefined;
  hooks.ready.tapPromise('rate-limits', async () => {
    const open = async (): Promise<{ gate: Gate; store: AllowanceStore }> => {
      const store = await openAllowances({ window, url: postgres });
      return { store, gate: new Gate([partyOf('account', perAccount, store), partyOf('key', perKey, store)], window) };
    };
    ({ gate } = await resource('rate limits', { perKey, perAccount, window, postgres }, open, ({ store }) => store.close()));
  });
  // Before the ledger: a call that is turned away here reserves nothing.
  hooks.authorize.tapPromise({ name: 'rate-limits', stage: -10 }, async (grant, planned) => {
    if (!gate) return grant;
    return { ...grant, headers: { ...grant.headers, ...(await gate.enter(planned)) } };
  });
  hooks.meter.tapPromise('rate-limits', async (end) => gate?.leave(end));
}

export const rateLimits = definePlugin({
  name: 'rate-limits',
  options,
  apply(host, wanted) {
    if (isLimited(wanted.perKey) || isLimited(wanted.perAccount)) openGate(host, wanted);
  },
});
