/**
 * Responses that run in the background. Each is recorded before its call starts, and again at its end, which
 * a stream of it shows last. A process writes a beat while it runs responses: without one for a minute they
 * have failed.
 */
import { hash, randomUUID } from 'node:crypto';
import {
  GatewayError,
  sliceMember,
  splice,
  type Host,
  type Parsed,
  type Replay,
} from '../../../core/index.ts';
import { buildErrorBody } from '../../shared/openai/errors.ts';
import { readObject, readString } from '../../shared/wire-kit/values.ts';
import type { ResponsesCall } from './call.ts';
import { EventLog } from './event-log.ts';
import { setOutput, setText } from './expansion.ts';
import { buildRecord, type Keeper } from './keeper.ts';
import { makeId, ResponseObject } from './reply-facts.ts';
import { computeSize, runningStates, type Found, type Stored } from './stored.ts';

/** Milliseconds between two beats, and without one until a response has failed. */
const beatEvery = 2000;
const longestSilence = 60_000;
/** Characters of the events of all responses, and milliseconds that they are there after the end of one. */
const [largestOfLogs, longestLog] = [64 * 1024 * 1024, 60_000];
/** Responses of an account that one process runs at once. */
const mostAtOnce = 100;
/** Milliseconds that a stop waits for the last records. */
const longestStop = 3000;

interface Run {
  readonly account: string;
  readonly id: string;
  readonly call: ResponsesCall;
  /** The record while it runs. */
  readonly record: string;
  readonly parsed: Parsed;
  /** Its events, if they are streamed. */
  readonly log: EventLog | undefined;
}

interface Running extends Pick<Run, 'account' | 'id'> {
  /** Cancels its call. */
  readonly leaving: AbortController;
  /** Resolves when its end is recorded. */
  readonly ended: Promise<void>;
}

/** Events that hold the whole response, with an id that is the provider's. */
const lifecycle = /"type":\s*"response\.(?:created|queued|in_progress)"/;
/** The events that end a response. */
const ending = /"type":\s*"response\.(?:completed|incomplete|failed)"/;
const stopped = new GatewayError('internal', 'The gateway that ran this response stopped.');
const unkept = new GatewayError('internal', 'The response could not be stored.');

/** `body` is that of an error. */
function describeFailure(record: string, body: unknown): string {
  const { code, message } = readObject(readObject(body).error);
  return splice(record, [
    { path: ['status'], value: 'failed' },
    { path: ['error'], value: { code: readString(code) ?? 'server_error', message } },
  ]);
}

function nameResponse(data: string, id: string): string {
  return splice(data, [
    { path: ['response', 'id'], value: id },
    { path: ['response', 'background'], value: true },
  ]);
}

/** The record as it is now: its state changes while its text stays. */
export function describeRecord({ state, beat, reply }: Found): string {
  if (state === 'cancelled') return splice(reply, [{ path: ['status'], value: state }]);
  if (!runningStates.has(state)) return reply;
  if (Date.now() - (beat ?? 0) < longestSilence) return splice(reply, [{ path: ['status'], value: state }]);
  return describeFailure(reply, buildErrorBody(stopped));
}

function buildReplay(record: string): Replay {
  return { status: 200, headers: { 'content-type': 'application/json' }, body: Buffer.from(record) };
}

/** The name of an account's response. */
function nameRun(account: string, id: string): string {
  return JSON.stringify([account, id]);
}

export const streamHeaders = { 'content-type': 'text/event-stream', 'cache-control': 'no-store' };

export class Background {
  readonly #stored: Stored;
  readonly #keeper: Keeper;
  readonly #host: Pick<Host, 'postCall' | 'logger'>;
  readonly #process = randomUUID();
  /** By the ids of their exchanges. */
  readonly #running = new Map<string, Running>();
  readonly #beating: NodeJS.Timeout;
  readonly #logs = new Map<string, EventLog>();
  readonly #room = { left: largestOfLogs };

  constructor(stored: Stored, keeper: Keeper, host: Pick<Host, 'postCall' | 'logger'>) {
    this.#stored = stored;
    this.#keeper = keeper;
    this.#host = host;
    const beat = (): void =>
      void this.#beat().catch((error: unknown) => host.logger.warn({ error }, 'no beat'));
    this.#beating = setInterval(() => this.#running.size > 0 && beat(), beatEvery).unref();
  }

  /** Waits for the records of what ended. */
  async close(): Promise<void> {
    const timeout = new Promise((resolve) => void setTimeout(resolve, longestStop).unref());
    await Promise.race([Promise.all([...this.#running.values()].map(({ ended }) => ended)), timeout]);
    clearInterval(this.#beating);
  }

  isRunning(exchange: string): boolean {
    return this.#running.has(exchange);
  }

  /** Starts a response, and returns its record. The same `Idempotency-Key` gets the same response. */
  async start(parsed: Parsed, call: ResponsesCall): Promise<Replay> {
    const { account, key } = parsed.principal;
    const own = [...this.#running.values()].filter((run) => run.account === account);
    if (own.length >= mostAtOnce)
      throw new GatewayError(
        'rate_limited',
        `This account runs ${mostAtOnce} responses in the background. Try again later.`,
      );
    const once = parsed.headers['idempotency-key'];
    const name =
      once === undefined ? parsed.id : hash('sha256', JSON.stringify([account, once])).slice(0, 32);
    const id = makeId('resp', name);
    const created = Math.floor(parsed.receivedAt / 1000);
    const object = new ResponseObject({ id: name, model: call.model, created, call });
    const queued = { status: 'queued', incomplete_details: null, error: null } as const;
    const record = JSON.stringify({ ...object.encode(queued, []), id });
    const bytes = computeSize(parsed.bytes, record, []);
    const entry = { account, key, id, state: 'queued', bytes, request: parsed.bytes, reply: record };
    const isNew = await this.#stored.begin({ ...entry, process: this.#process });
    if (isNew) {
      const log = call.stream ? new EventLog(this.#room) : undefined;
      if (log) this.#logs.set(nameRun(account, id), log);
      await this.#run({ account, id, call, record, parsed, log });
    }
    if (call.stream)
      return { status: 200, headers: streamHeaders, body: Buffer.of(), stream: this.follow(account, id) };
    const first = isNew ? undefined : await this.#stored.find(account, id);
    return buildReplay(first ? describeRecord(first) : record);
  }

  /** The events of a response after the one of this number, as server-sent events. */
  follow(account: string, id: string, after = -1): AsyncGenerator<string> {
    const log = this.#logs.get(nameRun(account, id));
    if (log) return log.follow(after);
    throw new GatewayError(
      'unsupported_parameter',
      'The events of this response are not here: it was created without "stream", it ended a while ago, ' +
        'or another process of the gateway runs it. Leave "stream" out, and poll.',
      { param: 'stream' },
    );
  }

  async #run(run: Run): Promise<void> {
    const { account, id, parsed, log } = run;
    const edits = [
      { path: ['background'], value: undefined },
      { path: ['stream'], value: true },
    ] as const;
    const leaving = new AbortController();
    let response: string | undefined;
    const { id: exchange, end } = await this.#host.postCall(parsed, {
      body: splice(parsed.ownText ?? parsed.text, edits),
      signal: leaving.signal,
      take(data) {
        if (ending.test(data)) response = sliceMember(data, 'response');
        else if (data.startsWith('{') && !leaving.signal.aborted)
          log?.add(lifecycle.test(data) ? nameResponse(data, id) : data);
        return undefined;
      },
    });
    const ended = end
      .then(({ text }) => this.#finish(run, response, text))
      .catch((error: unknown) => this.#host.logger.error({ error }, 'a response in the background failed'))
      .then(() => log && this.#endLog(run, log))
      .finally(() => void this.#running.delete(exchange));
    this.#running.set(exchange, { account, id, leaving, ended });
    void this.#stored.advance(account, id, 'in_progress').catch(() => undefined);
  }

  /** The last event shows what was recorded, so that a client finds the same when it asks for it. */
  async #endLog({ account, id }: Run, log: EventLog): Promise<void> {
    const [found, output] = await Promise.all([
      this.#stored.find(account, id).catch(() => undefined),
      this.#stored.listItems(account, id).catch(() => []),
    ]);
    if (found) {
      const event = { type: `response.${found.state}`, sequence_number: log.lastNumber + 1 };
      log.add(setText(JSON.stringify(event), 'response', setOutput(describeRecord(found), output)));
    }
    log.end();
    const forget = (): void => {
      this.#logs.delete(nameRun(account, id));
      log.forget();
    };
    setTimeout(forget, longestLog).unref();
  }

  /** Records the response, or the error in its place. */
  async #finish(
    { account, id, call, record, parsed }: Run,
    response: string | undefined,
    error: string,
  ): Promise<void> {
    const text = response ?? describeFailure(record, JSON.parse(error));
    const built = buildRecord(text, call, [{ path: ['id'], value: id }]);
    const state = String(readObject(JSON.parse(built.record)).status);
    const { output } = built;
    const bytes = computeSize([], text, output);
    const isKept = await this.#keeper.guard(account, parsed.id, parsed.bytes.length + bytes, async () => {
      const isOurs = await this.#stored.finish({ account, id, state, bytes, reply: built.record }, output);
      if (isOurs && state !== 'failed')
        await this.#keeper.addToConversation(account, call, parsed.text, output);
    });
    if (isKept) return;
    const failed = describeFailure(record, buildErrorBody(unkept));
    const entry = { account, id, state: 'failed', bytes: failed.length, reply: failed };
    await this.#stored.finish(entry, []).catch(() => undefined);
  }

  /** Cancels a response that still runs, in whatever process. One that has ended stays as it is. */
  async cancel(account: string, id: string, { reply }: Found): Promise<void> {
    if (readObject(JSON.parse(reply)).background !== true)
      throw new GatewayError('invalid_request', 'Cannot cancel a synchronous response.');
    await this.#stored.advance(account, id, 'cancelled');
    this.stop(account, id);
  }

  /** Ends the call of a response that was cancelled or deleted, if this process runs it. */
  stop(account: string, id: string): void {
    for (const run of this.#running.values())
      if (run.account === account && run.id === id) run.leaving.abort();
  }

  async #beat(): Promise<void> {
    const begun = [...this.#running.values()];
    const rows = await this.#stored.beat(this.#process);
    const alive = new Set(
      rows
        .filter(({ state }) => state !== 'cancelled')
        .map(({ account, id }) => nameRun(String(account), String(id))),
    );
    for (const { leaving, account, id } of begun) if (!alive.has(nameRun(account, id))) leaving.abort();
  }
}
