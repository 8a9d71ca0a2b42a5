/**
 * Calls as they start and end, as server-sent events. Several workers share the port, so each worker passes
 * its events to the workers that have listeners. Events travel in batches. Without listeners no event is
 * built.
 */
import { Readable } from 'node:stream';
import { GatewayError, type Attempt, type End, type Routed, type Workers } from '../../../core/index.ts';
import { buildRecordText } from '../../shared/calls/record.ts';
import { describeCall } from '../../shared/calls/shown.ts';

/** Milliseconds between two batches, between two comments, and between two calls to the other workers. */
const batchEvery = 250;
const commentEvery = 15_000;
const renewEvery = 5000;
/** Milliseconds for which a worker passes on its events after a request. */
const leaseTime = 12_000;
/** Characters that a client may be behind, and events that a batch has. */
const mostBehind = 4 * 1024 * 1024;
const mostEvents = 2000;
const mostStreams = 50;
const topic = 'live calls';

interface Batch {
  readonly starts: readonly string[];
  readonly ends: readonly string[];
}

function isBatch(question: unknown): question is Batch {
  return typeof question === 'object' && question !== null && 'starts' in question && 'ends' in question;
}

function buildEvent(name: string, texts: readonly string[]): string {
  return texts.length === 0 ? '' : `event: ${name}\ndata: [${texts.join(',')}]\n\n`;
}

export class LiveCalls {
  readonly #workers: Workers;
  readonly #streams = new Set<Readable>();
  readonly #stopAnswering: () => void;
  #starts: string[] = [];
  #ends: string[] = [];
  #left = 0;
  /** Whether another worker asked for events a short time ago. */
  #isAsked = false;
  #lease: NodeJS.Timeout | undefined;
  #batch: NodeJS.Timeout | undefined;
  #renewal: NodeJS.Timeout | undefined;
  #comments: NodeJS.Timeout | undefined;

  constructor(workers: Workers) {
    this.#workers = workers;
    this.#stopAnswering = workers.answer(topic, (question) => this.#hear(question));
  }

  get #isWanted(): boolean {
    return this.#isAsked || this.#streams.size > 0;
  }

  /** Opens a stream for one client. Throws `overloaded` if there are too many. */
  open(): Readable {
    if (this.#streams.size >= mostStreams)
      throw new GatewayError('overloaded', `At most ${mostStreams} clients can follow calls; close one.`);
    const stream = new Readable({ read: () => undefined });
    stream.on('close', () => this.#forget(stream));
    stream.push('retry: 2000\n\n');
    this.#streams.add(stream);
    if (this.#streams.size === 1) {
      this.#ask();
      this.#renewal = setInterval(() => this.#ask(), renewEvery).unref();
      this.#comments = setInterval(() => this.#send(':\n\n'), commentEvery).unref();
    }
    return stream;
  }

  addStart({ target }: Attempt, { id, receivedAt, family, operation, principal, call }: Routed): void {
    if (!this.#isWanted) return;
    this.#add(this.#starts, {
      id,
      at: new Date(receivedAt).toISOString(),
      account: principal.account,
      key: principal.key,
      key_name: principal.name || undefined,
      protocol: family,
      operation,
      stream: call.stream,
      model: call.model.slice(0, 200),
      provider: target.provider.name,
    });
  }

  addEnd(end: End): void {
    if (!this.#isWanted) return;
    const { principal } = end.exchange;
    const call = describeCall(JSON.parse(buildRecordText(end)));
    this.#add(this.#ends, { ...call, key_name: principal?.name || undefined });
  }

  close(): void {
    this.#stopAnswering();
    clearTimeout(this.#lease);
    clearTimeout(this.#batch);
    for (const stream of this.#streams) {
      stream.push(null);
      this.#forget(stream);
    }
  }

  #add(events: string[], shown: object): void {
    if (events.length >= mostEvents) this.#left += 1;
    else events.push(JSON.stringify(shown));
    this.#batch ??= setTimeout(() => this.#flush(), batchEvery).unref();
  }

  #flush(): void {
    this.#batch = undefined;
    const batch: Batch = { starts: this.#starts, ends: this.#ends };
    [this.#starts, this.#ends] = [[], []];
    this.#show(batch);
    if (this.#left > 0) this.#send(`event: omitted\ndata: {"events":${this.#left}}\n\n`);
    this.#left = 0;
    if (this.#isAsked) this.#workers.notify(topic, batch);
  }

  #show({ starts, ends }: Batch): void {
    if (this.#streams.size > 0) this.#send(buildEvent('start', starts) + buildEvent('end', ends));
  }

  #send(text: string): void {
    for (const stream of this.#streams) {
      stream.push(text);
      if (stream.readableLength <= mostBehind) continue;
      const message = 'This client reads too slowly. Connect again.';
      stream.push(`event: dropped\ndata: ${JSON.stringify({ message })}\n\n`);
      stream.push(null);
      this.#forget(stream);
    }
  }

  #forget(stream: Readable): void {
    this.#streams.delete(stream);
    if (this.#streams.size > 0) return;
    clearInterval(this.#renewal);
    clearInterval(this.#comments);
  }

  /** Asks the other workers for their events, for a short time. */
  #ask(): void {
    this.#workers.notify(topic, 'listen');
  }

  #hear(question: unknown): true {
    if (isBatch(question)) {
      this.#show(question);
    } else {
      this.#isAsked = true;
      clearTimeout(this.#lease);
      this.#lease = setTimeout(() => {
        this.#isAsked = false;
      }, leaseTime).unref();
    }
    return true;
  }
}
