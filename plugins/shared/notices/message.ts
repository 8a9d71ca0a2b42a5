/**
 * What a channel sends: messages of one or more notices. It may send them as JSON to an address, which is a
 * secret and in no error.
 */
import { createHmac } from 'node:crypto';
import { getMessage, hideSecrets, withTimeout, type Notice, type TableRow } from '../../../core/index.ts';

/** A notice as it was kept. */
export interface Told extends Notice {
  /** The same at each attempt. */
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** One notice, or several of one event. Texts are plain: each channel escapes them. */
export interface Message extends Pick<Notice, 'event' | 'severity' | 'title' | 'isOver'> {
  /** What happened, a line for each notice, of which there are at most eleven. */
  readonly lines: readonly string[];
  readonly notices: readonly Told[];
}

/** A way to reach operators. */
export interface Channel {
  readonly name: string;
  /** Milliseconds between messages, and for one to be accepted. */
  readonly every: number;
  readonly timeout: number;
  takes(notice: Notice): boolean;
  /** Rejects if the message was not accepted: it is sent again later. */
  send(message: Message): Promise<void>;
}

/** Why a channel did not accept a message, and for how many seconds it wants none. */
export class SendError extends Error {
  readonly retryAfter: number;

  constructor(message: string, retryAfter = 0) {
    super(message);
    this.retryAfter = retryAfter;
  }
}

/** The event of a message that an operator asks for, to see whether a channel works. */
export const testEvent = 'notices.test';

const mostLines = 10;

/** The message of one or more notices of an event. */
export function buildMessage(...notices: readonly [Told, ...Told[]]): Message {
  const [{ event, severity, title, isOver = false }] = notices;
  const count = notices.length > 1 ? ` (${notices.length})` : '';
  const more = notices.length - mostLines;
  const lines = notices.slice(0, mostLines).map(({ text }) => text);
  return {
    event,
    isOver,
    severity: isOver ? 'info' : severity,
    title: `${title}${count}`,
    lines: more > 0 ? [...lines, `And ${more} more.`] : lines,
    notices,
  };
}

/** Sends in time, whatever the channel does. */
export async function sendInTime(channel: Channel, message: Message): Promise<void> {
  const sending = channel.send(message).then(() => true);
  if (!(await withTimeout(sending, channel.timeout)))
    throw new SendError(`it did not answer in ${channel.timeout / 1000} s`);
}

export function describeFault(error: unknown): string {
  return hideSecrets(getMessage(error)).slice(0, 300);
}

export function readTold({ id, at, body }: TableRow): Told {
  return { ...JSON.parse(String(body)), id: String(id), at: Number(at) };
}

/** The first line of a message: how bad it is, and what happened. */
export function formatTitle({ severity, isOver, title }: Message): string {
  const words = { info: 'Note', warning: 'Warning', critical: 'Critical' };
  return `${isOver ? 'Over' : words[severity]}: ${title}`;
}

interface Sent {
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON text. */
  readonly body: string;
  /** Seconds. */
  readonly timeout: number;
}

/**
 * Sends JSON to the address of a channel and to no other. Rejects with a `SendError`, which never has the
 * address, unless the reply is good.
 */
export async function sendJson(url: string, { headers = {}, body, timeout }: Sent): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    body,
    redirect: 'manual',
    signal: AbortSignal.timeout(timeout * 1000),
    headers: { 'content-type': 'application/json', ...headers },
  }).catch((error: unknown) => {
    const { cause } = error instanceof Error ? error : {};
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : getMessage(error);
    throw new SendError(`${new URL(url).hostname} could not be reached: ${code}`);
  });
  // Only the status matters, and the body may be of any size.
  await response.body?.cancel();
  if (response.ok) return;
  const wait = Number(response.headers.get('retry-after'));
  throw new SendError(
    `${new URL(url).hostname} answered ${response.status}`,
    wait > 0 ? Math.min(wait, 3600) : 0,
  );
}

interface SignedAddress extends Pick<Sent, 'timeout'> {
  readonly url: string;
  readonly secret: string;
}

/** Sends JSON that its receiver can check: the signature is an HMAC-SHA256 over the time and the body. */
export function sendSigned({ url, secret, timeout }: SignedAddress, message: object): Promise<void> {
  const body = JSON.stringify(message);
  const time = Math.floor(Date.now() / 1000);
  const signature = createHmac('sha256', secret).update(`${time}.${body}`).digest('hex');
  return sendJson(url, { body, timeout, headers: { 'tollgate-signature': `t=${time},v1=${signature}` } });
}
