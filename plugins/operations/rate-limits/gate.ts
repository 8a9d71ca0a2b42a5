/**
 * Takes what each call needs from the limits of its key, account, teams and model, reports to the client what
 * is left, and returns the rest at the end.
 */
import { z } from 'zod';
import {
  GatewayError,
  estimateInput,
  findCount,
  mayCall,
  type End,
  type Planned,
} from '../../../core/index.ts';
import type { Counts, Left, Want } from './counter.ts';

export const limitsSchema = z.strictObject({
  /** Calls in a window. */
  requests: z.int().positive().optional(),
  /** Tokens of input and output in a window, together and apart. */
  tokens: z.int().positive().optional(),
  input: z.int().positive().optional(),
  output: z.int().positive().optional(),
  /** Whether input counts that the provider read from its cache; it does unless this is false. */
  cachedInput: z.boolean().optional(),
  /** Concurrent calls. */
  parallel: z.int().positive().optional(),
});

export type Limits = z.output<typeof limitsSchema>;

const kinds = ['parallel', 'requests', 'tokens', 'input', 'output'] as const;

export function isLimited(limits: Limits): boolean {
  return kinds.some((kind) => limits[kind] !== undefined);
}

/** Limits of some calls, counted for each key or account, or for a team or the gateway as a whole. */
export const ruleSchema = limitsSchema
  .extend({
    per: z.enum(['key', 'account', 'team', 'gateway']),
    /** Only calls of this account and all below it. */
    team: z.string().min(1).max(128).optional(),
    /** Only calls of these models; a trailing `*` matches a prefix. They count together. */
    models: z.array(z.string().min(1).max(200)).min(1).max(100).optional(),
  })
  .refine(({ per, team }) => per !== 'team' || team !== undefined, {
    path: ['team'],
    message: 'name the team: the account at its top',
  })
  .refine(isLimited, { message: `name a limit: ${kinds.join(', ')}` });

export type Rule = z.output<typeof ruleSchema>;

function isAbout({ team, models }: Rule, { principal, targets }: Planned): boolean {
  if (team !== undefined && team !== principal.account && !principal.teams?.includes(team)) return false;
  return !models || targets.slice(0, 1).some(({ model }) => mayCall({ models }, model.id));
}

/** Which calls a rule counts, in words. A team that is counted as a whole is named anyway. */
function describeCalls({ per, team, models }: Rule): string {
  const place = team === undefined || per === 'team' ? '' : ` in ${team}`;
  return `${models ? ` of ${models.join(', ')}` : ''}${place}`;
}

function estimateTokens({ call, operation, targets }: Planned): number {
  const [first] = targets;
  return operation === 'count' || !first ? 0 : estimateInput(call, first.model);
}

/** Everything a call needs. Concurrent calls come first, since they are cheap to give back. */
function listWants(rules: readonly Rule[], planned: Planned): Want[] {
  const wants: Want[] = [];
  const { key, account } = planned.principal;
  const input = estimateTokens(planned);
  // How much a call will write is not known, so it may begin while anything is left, and what it wrote
  // counts at its end.
  const amounts = { parallel: 1, requests: 1, tokens: input, input, output: 1 };
  const about = rules.filter((rule) => isAbout(rule, planned));
  for (const kind of kinds) {
    for (const rule of about) {
      const { per: whose, team = '', cachedInput } = rule;
      const limit = rule[kind];
      if (limit === undefined) continue;
      const name = { team, gateway: '', key, account }[whose];
      wants.push({
        whose,
        name,
        among: describeCalls(rule),
        kind,
        cachedInput,
        limit,
        amount: amounts[kind],
      });
    }
  }
  return wants;
}

/** `This key`, `The team "company"` */
function describeOwner({ whose, name }: Want): string {
  return whose === 'team' ? `The team "${name}"` : `This ${whose}`;
}

const kindWords = { requests: 'requests', tokens: 'tokens', input: 'input tokens', output: 'output tokens' };

/** How much of a limit a call has used. */
function computeUsed({ kind, cachedInput }: Want, end: End): number {
  if (kind === 'parallel') return 0;
  // A refused call does not count as a request; one that failed does.
  if (kind === 'requests') return end.type === 'refused' ? 0 : 1;
  const uses = 'charge' in end ? end.charge.uses : [];
  const cached = cachedInput === false ? (findCount(uses, 'cacheRead') ?? 0) : 0;
  const input = kind === 'output' ? 0 : Math.max(0, (findCount(uses, 'input') ?? 0) - cached);
  return input + (kind === 'input' ? 0 : (findCount(uses, 'output') ?? 0));
}

/** What one call has taken, which is given back or corrected at its end. */
interface Taken {
  readonly wants: readonly Want[];
  readonly from: Counts;
  /** When the window of each want ends, by the process's own clock. */
  readonly until: readonly number[];
}

export class Gate {
  readonly #rules: readonly Rule[];
  readonly #window: number;
  readonly #counts: Counts;
  readonly #taken = new Map<string, Taken>();

  constructor(rules: readonly Rule[], window: number, counts: Counts) {
    this.#rules = rules;
    this.#window = window;
    this.#counts = counts;
  }

  /** Takes everything the call needs, or nothing. Returns the headers that report what is left. */
  async enter(planned: Planned): Promise<Record<string, string>> {
    const { id, family } = planned;
    const wants = listWants(this.#rules, planned);
    if (wants.length === 0) return {};
    const neverFits = wants.find(({ amount, limit }) => amount > limit);
    if (neverFits) {
      const { amount, limit, among = '' } = neverFits;
      const owner = describeOwner(neverFits).replace(/^T/, 't');
      throw new GatewayError(
        'body_too_large',
        `This call of about ${amount} tokens is more than the ${limit}${among} ${owner} may use ` +
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
      // Of several limits of a kind, the client sees the one with less left.
      if (one && kind !== 'parallel' && one.remaining <= (tightest[kind]?.remaining ?? Infinity))
        tightest[kind] = one;
    }
    return buildHeaders(family, tightest);
  }

  #buildLimitError(want: Want, left: Left, family: string): GatewayError {
    const { kind, limit, among = '' } = want;
    const owner = describeOwner(want);
    const retryAfter = Math.max(1, Math.ceil(left.resetAfter / 1000));
    if (kind === 'parallel')
      return new GatewayError(
        'rate_limited',
        `${owner} may make ${limit} concurrent calls${among}. Try again later.`,
        { retryAfter },
      );
    const headers = buildHeaders(family, { [kind]: left });
    return new GatewayError(
      'rate_limited',
      `${owner} may use ${limit} ${kindWords[kind]}${among} in ${this.#window} seconds. Try again later.`,
      { retryAfter, headers },
    );
  }

  /** Runs once for each call that entered, even if another plugin refused it afterwards. */
  async leave(end: End): Promise<void> {
    const { exchange } = end;
    const taken = this.#taken.get(exchange.id);
    if (!taken) return;
    this.#taken.delete(exchange.id);
    const back = taken.wants.map((want) => ({ ...want, amount: want.amount - computeUsed(want, end) }));
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
export type Tightest = Partial<Record<Exclude<Want['kind'], 'parallel'>, Left>>;

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

/** Anthropic names input and output so, and OpenAI does not count them apart. */
function toHeaderName(kind: string): string {
  return kind.endsWith('put') ? `${kind}-tokens` : kind;
}

export function buildHeaders(family: string, tightest: Tightest): Headers {
  const build = family === 'messages' ? buildMessagesHeaders : buildPlainHeaders;
  return Object.assign(
    {},
    ...Object.entries(tightest).map(([kind, left]) => build(toHeaderName(kind), left)),
  );
}
