/** Exchanges at each stage, made by hand: the arguments of hooks, without a gateway. */
import type { IncomingHttpHeaders } from 'node:http';
import { pino } from 'pino';
import { Trace } from '../../core/exchange.ts';
import type { Attempt, GatewayError, Received, Routed, Target } from '../../core/index.ts';
import { Tally } from '../../core/tally.ts';
import { Cancellation } from '../../core/util/cancellation.ts';
import { plainProtocol } from './plain-protocol.ts';

const logger = pino({ level: 'silent' });

/** The head of a call of a protocol. */
export function buildHead(
  family: string,
  headers: IncomingHttpHeaders = {},
  query = '',
  cancellation = new Cancellation(),
): Received {
  return {
    id: 'exchange-1',
    family,
    headers,
    logger,
    address: '127.0.0.1',
    operation: 'generate',
    access: 'user',
    method: 'POST',
    path: '/',
    query: new URLSearchParams(query),
    receivedAt: Date.UTC(2026, 6, 2),
    startedAt: 1000,
    cancellation,
    signal: cancellation.signal,
    trace: new Trace(),
  };
}

export interface Routing {
  readonly family?: string;
  readonly stream?: boolean;
  readonly cancellation?: Cancellation;
  /** Milliseconds from the head to the attempt, and from there to the first event. */
  readonly waited?: number;
  readonly firstEventAfter?: number;
  readonly error?: GatewayError;
}

/** A call on its attempt at a target. */
export function buildRouted(
  target: Target,
  {
    family = 'plain',
    stream = false,
    waited = 0,
    firstEventAfter,
    error,
    cancellation = new Cancellation(),
  }: Routing = {},
): Routed {
  const head = buildHead(family, {}, '', cancellation);
  const { signal } = head;
  const body = { model: target.model.id, prompt: 'hello', stream };
  const text = JSON.stringify(body);
  const call = plainProtocol.client.read(body, text, { operation: 'generate' }, {});
  const attempt: Attempt = {
    target,
    signal,
    cancellation,
    firstEventAfter,
    error,
    number: 1,
    isRetry: false,
    withoutReasoning: false,
    startedAt: head.startedAt + waited,
    phase: 'start',
    tally: new Tally(),
    sent: false,
    status: undefined,
    losses: [],
    duration: undefined,
  };
  return {
    ...head,
    bytes: Buffer.from(text),
    text,
    call,
    attempt,
    principal: { kind: 'user', account: 'account-1', key: 'key-1' },
    protocol: plainProtocol,
    getRequest: call.decode,
    record: () => undefined,
    targets: [target],
    grant: { targets: [target] },
  };
}
