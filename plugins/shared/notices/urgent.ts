/**
 * Tells what is urgent while the outbox cannot be written. The process that starts the workers remembers what
 * one of them has told, so each channel is told once. Gateways on other machines tell it themselves.
 */
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { Host, Supervisor } from '../../../core/index.ts';
import { limitEntries } from '../up-to.ts';
import { buildMessage, describeFault, sendInTime, type Channel, type Told } from './delivery.ts';

const topic = 'notices:claim';
/** Milliseconds after which another worker may try, and before a channel that failed is tried again. */
const patience = 60_000;
const pause = 10_000;

const claimSchema = z.object({ name: z.string(), isTold: z.boolean() });

/** Answers the workers, in the process that starts them. */
export function answerClaims(supervisor: Supervisor): void {
  const told = new LRUCache<string, 'told' | number>(limitEntries(1000));
  const until = new LRUCache<string, number>(limitEntries(1000));
  supervisor.answer(topic, (question, worker) => {
    const { name, isTold } = claimSchema.parse(question);
    const known = told.get(name);
    if (known === 'told') return 'told';
    if (known !== undefined && known !== worker && Date.now() < (until.get(name) ?? 0)) return 'taken';
    told.set(name, isTold ? 'told' : worker);
    until.set(name, Date.now() + patience);
    return 'yours';
  });
  supervisor.onGone((worker) => {
    for (const [name, known] of told.entries()) if (known === worker) told.delete(name);
  });
}

export class UrgentNotices {
  readonly #host: Pick<Host, 'workers' | 'logger'>;
  /** Notices and channels, by their names. */
  readonly #told = new Set<string>();
  readonly #again = new Map<string, number>();

  constructor(host: Pick<Host, 'workers' | 'logger'>) {
    this.#host = host;
  }

  wasTold({ id }: Told, { name }: Channel): boolean {
    return this.#told.has(`${id} ${name}`);
  }

  /** Never rejects. A channel that fails is tried again by a later call. */
  async report(notice: Told, channel: Channel): Promise<void> {
    const { workers, logger } = this.#host;
    const name = `${notice.id} ${channel.name}`;
    if (this.#told.has(name) || Date.now() < (this.#again.get(name) ?? 0)) return;
    this.#again.set(name, Date.now() + pause);
    const message = buildMessage('raised', [notice]);
    const claim = await workers.askSupervisor(topic, { name, isTold: false });
    if (claim === 'taken' || !message) return;
    try {
      if (claim !== 'told') await sendInTime(channel, message);
      this.#told.add(name);
      await workers.askSupervisor(topic, { name, isTold: true });
    } catch (error) {
      logger.warn(
        { channel: channel.name, fault: describeFault(error) },
        'an urgent notice was not accepted',
      );
    }
  }
}
