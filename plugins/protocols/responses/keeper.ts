/**
 * Keeps responses when their calls end, and deletes the oldest beyond the limits. A reply waits for its row,
 * so that the client's next request finds it, but no fault of the database fails a call.
 */
import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import {
  getMessage,
  sliceMember,
  splice,
  type Answered,
  type Edit,
  type End,
  type Host,
} from '../../../core/index.ts';
import { defineKnownCounter } from '../../shared/metric.ts';
import { readObject } from '../../shared/wire-kit/values.ts';
import { ResponsesCall } from './call.ts';
import { listInput, listOutput } from './expansion.ts';
import { makeItemId } from './reply-facts.ts';
import { computeSize, isId, largest, type Bounds, type Item, type Stored } from './stored.ts';

/** Milliseconds between two deletions of what is too old. */
const sweepEvery = 60_000;

export type KeepResult = 'kept' | 'too_large' | 'failed';

/** The text of the response that ends a reply. */
export function findResponse({ ending = '', exchange }: Answered): string | undefined {
  const text = typeof ending === 'string' ? ending : Buffer.from(ending).toString();
  if (!exchange.call.stream) return text;
  const lines = text.split('\n').filter((line) => line.startsWith('data:'));
  return lines.reduce<string | undefined>((found, line) => {
    const json = line.slice('data:'.length).trim();
    return json.startsWith('{') ? (sliceMember(json, 'response') ?? found) : found;
  }, undefined);
}

/** A response without its output, with what the provider does not know of it. */
export function buildRecord(
  reply: string,
  { settings, expansion }: ResponsesCall,
  edits: readonly Edit[] = [],
) {
  const id: unknown = readObject(JSON.parse(reply)).id;
  const { conversation } = expansion ?? {};
  const record = splice(reply, [
    { path: ['output'], value: [] },
    { path: ['store'], value: true },
    { path: ['background'], value: settings.background ?? false },
    { path: ['previous_response_id'], value: expansion?.previous ?? null },
    ...(conversation === undefined ? [] : [{ path: ['conversation'] as const, value: { id: conversation } }]),
    ...edits,
  ]);
  return { id, record, output: listOutput(reply) };
}

/** Items by an id each. One without an id keeps its text, and clients find it by an id of ours. */
export function nameItems(texts: readonly string[]): Item[] {
  return texts.map((text) => {
    const { id, type } = readObject(JSON.parse(text));
    return { id: isId(id) ? id : makeItemId(type, randomUUID(), 0), text };
  });
}

/** A limit is looked at again when this share of it was added, and then this share is left. */
const [addedShare, leftShare] = [0.05, 0.9];
/** Accounts of which is known what was added. Another one is looked at with its next response. */
const mostKnown = 10_000;

/** What this process has added for each account, and as `''` for all, since it last looked at the limit. */
class Additions {
  readonly #known = new LRUCache<string, Bounds>({ max: mostKnown });

  /** Whether the limit has to be looked at. */
  add(whose: string, bytes: number, most: Bounds): boolean {
    const before = this.#known.get(whose);
    const now = { responses: (before?.responses ?? 0) + 1, bytes: (before?.bytes ?? 0) + bytes };
    const isLow = now.responses < most.responses * addedShare && now.bytes < most.bytes * addedShare;
    this.#known.set(whose, before && isLow ? now : { responses: 0, bytes: 0 });
    return !before || !isLow;
  }
}

export class Keeper {
  readonly #stored: Stored;
  readonly #logger: Host['logger'];
  readonly #counter: ReturnType<typeof createCounter>;
  readonly #sweeping: NodeJS.Timeout;
  readonly #additions = new Additions();

  constructor(stored: Stored, { logger, metrics }: Pick<Host, 'logger' | 'metrics'>) {
    this.#stored = stored;
    this.#logger = logger;
    this.#counter = createCounter(metrics);
    const sweep = (): void => void stored.sweep().catch((error: unknown) => this.#warn(error));
    this.#sweeping = setInterval(sweep, sweepEvery).unref();
  }

  close(): void {
    clearInterval(this.#sweeping);
  }

  /** Keeps the response of a call that ended well, unless its client wants nothing to be kept. */
  async keep(end: End): Promise<void> {
    if (end.type !== 'answered' || end.outcome !== 'completed') return;
    const { call, operation, bytes, principal } = end.exchange;
    if (!(call instanceof ResponsesCall) || operation !== 'generate' || call.settings.store === false) return;
    const reply = findResponse(end);
    if (reply === undefined) return;
    const { account, key } = principal;
    await this.guard(account, end.exchange.id, bytes.length + reply.length, async () => {
      const { id, record, output } = buildRecord(reply, call);
      if (!isId(id)) throw new Error('it has no id');
      const size = computeSize(bytes, reply, output);
      const entry = { account, key, id, state: 'completed', bytes: size, request: bytes, reply: record };
      await Promise.all([
        this.#stored.keep(entry, output),
        this.addToConversation(account, call, end.exchange.text, output),
      ]);
    });
  }

  /** A conversation gets the request's own items, and the output. */
  async addToConversation(
    account: string,
    { expansion }: ResponsesCall,
    request: string,
    output: readonly Item[],
  ): Promise<void> {
    if (expansion?.conversation === undefined) return;
    const own = listInput(sliceMember(request, 'input')).slice(expansion.context);
    const items = [...nameItems(own), ...nameItems(output.map(({ text }) => text))];
    if (!(await this.#stored.addItems(account, expansion.conversation, items)))
      throw new Error(`the conversation "${expansion.conversation}" is full, or was deleted`);
  }

  /** Writes within the limits. False if a fault, which is logged and counted, prevents it. */
  async guard(account: string, call: string, size: number, write: () => Promise<unknown>): Promise<boolean> {
    if (size > largest) return this.#note('too_large', account, call, `it has ${size} bytes`);
    try {
      await write();
      this.#counter.labels('kept').inc();
      void this.#shrink(account, size).catch((error: unknown) => this.#warn(error));
      return true;
    } catch (error) {
      return this.#note('failed', account, call, getMessage(error));
    }
  }

  #note(result: KeepResult, account: string, call: string, reason: string): false {
    this.#counter.labels(result).inc();
    this.#logger.warn({ call, account, result }, `a response is not kept: ${reason}`);
    return false;
  }

  #warn(error: unknown): void {
    this.#logger.warn({ error }, 'old responses could not be deleted; the gateway tries again');
  }

  async #shrink(account: string, bytes: number): Promise<void> {
    const { perAccount, inAll } = this.#stored.limits;
    if (this.#additions.add(account, bytes, perAccount))
      await this.#stored.shrink(perAccount, leftShare, account);
    if (this.#additions.add('', bytes, inAll)) await this.#stored.shrink(inAll, leftShare);
  }
}

function createCounter(metrics: Host['metrics']) {
  return defineKnownCounter(metrics, {
    name: 'tollgate_stored_responses_total',
    help: 'Responses that were to be kept, by what became of them',
    label: 'result',
    values: ['kept', 'too_large', 'failed'] satisfies KeepResult[],
  });
}
