/**
 * Counts calls for several workers, in the process that started them. They share their limits, and what a
 * dead worker held is free again. If that process does not answer, a worker counts for itself.
 */
import { z } from 'zod';
import type { Supervisor, Workers } from '../../../core/index.ts';
import { takingSchema, wantSchema, type Counter, type Counts, type Taking, type Want } from './counter.ts';
import { MemorySlots } from './slots.ts';

const topic = 'rate-limits';

const questionSchema = z.object({
  window: z.number(),
  call: z.string(),
  act: z.enum(['take', 'give']),
  wants: z.array(wantSchema),
});
type Question = z.output<typeof questionSchema>;

export class SupervisedCounter implements Counts {
  readonly #workers: Workers;
  readonly #window: number;
  readonly #own: Counter;

  /** `own` counts if no answer comes. */
  constructor(workers: Workers, window: number, own: Counter) {
    this.#workers = workers;
    this.#window = window;
    this.#own = own;
  }

  async take(call: string, wants: readonly Want[]): Promise<Taking & { readonly from: Counts }> {
    const { success, data } = takingSchema.safeParse(await this.#ask(call, 'take', wants));
    if (success) return { ...data, from: this };
    // An answer that came too late may have taken a place, so it is given back.
    void this.#ask(
      call,
      'give',
      wants.filter(({ kind }) => kind === 'parallel'),
    );
    return this.#own.take(call, wants);
  }

  give(call: string, wants: readonly Want[]): Promise<unknown> {
    return this.#ask(call, 'give', wants);
  }

  #ask(call: string, act: Question['act'], wants: readonly Want[]): Promise<unknown> {
    return this.#workers.askSupervisor(topic, {
      window: this.#window,
      call,
      act,
      wants: [...wants],
    } satisfies Question);
  }
}

/** Answers the workers' questions. `open` makes a counter in memory for windows of so many seconds. */
export function superviseLimits(
  supervisor: Supervisor,
  open: (window: number, slots: MemorySlots) => Promise<Counter>,
): void {
  // Shared by all counters: concurrent calls do not depend on the window.
  const slots = new MemorySlots();
  const counters = new Map<number, Promise<Counter>>();
  supervisor.onGone((worker) => slots.releaseHolder(worker));
  supervisor.answer(topic, async (question, worker): Promise<Taking | undefined> => {
    const { window, call, act, wants } = questionSchema.parse(question);
    const counter = counters.get(window) ?? open(window, slots);
    counters.set(window, counter);
    if (act === 'give') return void (await (await counter).give(call, wants));
    const { left, refused } = await (await counter).take(call, wants, worker);
    return { left, refused };
  });
}
