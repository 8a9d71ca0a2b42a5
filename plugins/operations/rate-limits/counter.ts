/** Counts what calls take of all that is limited: windows of requests and tokens, and calls at one time. */
import type { Allowance, Left } from './allowance.ts';
import type { Slots } from './slots.ts';

/** What a call needs of one thing that is limited, or gives back of it. */
export interface Want {
  readonly whose: 'key' | 'account';
  /** Which key or account. */
  readonly name: string;
  readonly kind: 'parallel' | 'requests' | 'tokens';
  readonly limit: number;
  /** Of what is given back, below zero where more was used than had been taken. */
  readonly amount: number;
}

export interface Taking {
  /** What is left of each thing, in the order of the needs; of a refused call, the last is the one that fell short. */
  readonly left: readonly Left[];
  readonly refused: boolean;
}

/** Where calls are counted: by this process, or for several. */
export interface Counts {
  /** Takes all that a call wants, or nothing; `from`: who is to be given it back. */
  take(call: string, wants: readonly Want[]): Promise<Taking & { readonly from: Counts }>;
  give(call: string, wants: readonly Want[]): Promise<unknown>;
}

/** Milliseconds that a call refused for too many at one time is told to wait. */
const untilOneEnds = 1000;

export class Counter implements Counts {
  readonly #open: (kind: string, limit: number) => Allowance;
  readonly #slots: Slots;
  readonly #allowances = new Map<string, Allowance>();

  /** `open`: an allowance of a kind, whose name tells it from others. */
  constructor(open: (kind: string, limit: number) => Allowance, slots: Slots) {
    this.#open = open;
    this.#slots = slots;
  }

  /** `holder`: which process runs the call. */
  async take(call: string, wants: readonly Want[], holder = 0): Promise<Taking & { readonly from: Counts }> {
    const left: Left[] = [];
    for (const want of wants) {
      const one = await this.#takeOne(call, want, holder);
      left.push(one);
      if (one.taken) continue;
      await this.give(call, wants.slice(0, left.length - 1));
      return { left, refused: true, from: this };
    }
    return { left, refused: false, from: this };
  }

  async give(call: string, wants: readonly Want[]): Promise<void> {
    for (const want of wants) {
      if (want.kind === 'parallel') await this.#slots.give(slotsOf(want), call);
      else await this.#allowance(want).correct(want.name, -want.amount);
    }
  }

  async #takeOne(call: string, want: Want, holder: number): Promise<Left & { readonly taken: boolean }> {
    const { name, kind, limit, amount } = want;
    if (kind !== 'parallel') return this.#allowance(want).take(name, amount);
    return { limit, remaining: 0, resetAfter: untilOneEnds, taken: await this.#slots.take(slotsOf(want), limit, call, holder) };
  }

  #allowance({ whose, kind, limit }: Want): Allowance {
    const key = `${whose}-${kind} ${limit}`;
    const known = this.#allowances.get(key);
    if (known) return known;
    const made = this.#open(`${whose}-${kind}`, limit);
    this.#allowances.set(key, made);
    return made;
  }
}

function slotsOf({ whose, name }: Want): string {
  return `${whose}:${name}`;
}
