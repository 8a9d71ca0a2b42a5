/** What operators should know. Plugins raise notices, and a plugin with an outbox delivers each once. */
import { Registry } from './util/registry.ts';

/** Delivered once for each event, subject and period. Texts have no secrets and no prompts. */
export interface Notice {
  /** Such as `ledger.unreachable`; an event of your own begins with your plugin's name. */
  readonly event: string;
  readonly subject: string;
  readonly period: string;
  readonly severity: 'info' | 'warning' | 'critical';
  readonly title: string;
  readonly text: string;
  /** The account that it is about, and those above it. */
  readonly accounts?: readonly string[];
  readonly facts?: object;
  /** Delivered even while the outbox cannot be written. */
  readonly isUrgent?: boolean;
  /** It says that what an earlier notice was about is over. */
  readonly isOver?: boolean;
}

export type Outbox = Pick<Notices, 'raise' | 'resolve'> & { readonly name: string };

export class Notices {
  readonly outboxes = new Registry<Outbox>('outbox');

  /** Undefined without a channel or a list of notices. */
  get outbox(): Outbox | undefined {
    return this.outboxes.list().next().value;
  }

  /** Resolves with whether it is kept, and never rejects. A repetition costs a look-up. */
  async raise(notice: Notice): Promise<boolean> {
    return this.outbox?.raise(notice) ?? false;
  }

  /** Says that what a notice was about is over. */
  resolve(event: string, subject: string): void {
    this.outbox?.resolve(event, subject);
  }
}
