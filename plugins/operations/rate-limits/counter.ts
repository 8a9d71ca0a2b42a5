/** Counts what calls take from all limits: requests and tokens in windows, and concurrent calls. */
import { z } from 'zod';
import type { Allowance, Left } from './allowance.ts';
import type { Slots } from './slots.ts';

/** What a call needs from one limit, or gives back to it. */
export const wantSchema = z.object({
  whose: z.enum(['key', 'account']),
  /** The key or account. */
  name: z.string(),
  kind: z.enum(['parallel', 'requests', 'tokens']),
  limit: z.number(),
  /** When it is given back, this is below zero if more was used than taken. */
  amount: z.number(),
});

export type Want = Readonly<z.output<typeof wantSchema>>;

export const takingSchema = z.object({
  /**
   * What is left of each limit, in the order of the wants. For a refused call the last one is the limit that
   * was reached.
   */
  left: z.array(z.object({ limit: z.number(), remaining: z.number(), resetAfter: z.number() })),
  refused: z.boolean(),
});

export type Taking = z.output<typeof takingSchema>;

/** Something that counts calls, for this process or for several. */
export interface Counts {
  /** Takes everything a call wants, or nothing. `from` is the counter it has to be given back to. */
  take(call: string, wants: readonly Want[]): Promise<Taking & { readonly from: Counts }>;
  give(call: string, wants: readonly Want[]): Promise<unknown>;
}

/** Milliseconds in the `retry-after` of a call that is refused because too many run. */
const untilOneEnds = 1000;

export class Counter implements Counts {
  readonly #open: (kind: string, limit: number) => Allowance;
  readonly #slots: Slots;
  readonly #allowances = new Map<string, Allowance>();

  /** `open` makes an allowance; `kind` is part of its name, to tell it from others. */
  constructor(open: (kind: string, limit: number) => Allowance, slots: Slots) {
    this.#open = open;
    this.#slots = slots;
  }

  /** `holder` is the process that runs the call. */
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
      if (want.kind === 'parallel') await this.#slots.give(toSlotName(want), call);
      else await this.#openAllowance(want).correct(want.name, -want.amount);
    }
  }

  async #takeOne(call: string, want: Want, holder: number): Promise<Left & { readonly taken: boolean }> {
    const { name, kind, limit, amount } = want;
    if (kind !== 'parallel') return this.#openAllowance(want).take(name, amount);
    return {
      limit,
      remaining: 0,
      resetAfter: untilOneEnds,
      taken: await this.#slots.take(toSlotName(want), limit, call, holder),
    };
  }

  #openAllowance({ whose, kind, limit }: Want): Allowance {
    const key = `${whose}-${kind} ${limit}`;
    const known = this.#allowances.get(key);
    if (known) return known;
    const made = this.#open(`${whose}-${kind}`, limit);
    this.#allowances.set(key, made);
    return made;
  }
}

function toSlotName({ whose, name }: Want): string {
  return `${whose}:${name}`;
}
