/**
 * How a reply is written to the socket, well or badly: late, held until a test releases it, or
 * cut off by one of the ways a connection ends. Knows frames and bytes and nothing of their meaning.
 */
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** A reply that is sent unchanged. An object is sent as JSON. */
export interface WholeReply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | object;
}

/** One piece of a body, written and counted as one. */
export interface Frame {
  readonly bytes: Buffer;
  /** Tokens of output it delivers. */
  readonly tokens: number;
  /** False for what is slipped in between and counts neither for `holdAfter` nor for `cut`. */
  readonly event: boolean;
}

/**
 * How a connection ends too early. `fin` closes it, `rst` resets it, `half-close` sends the end and keeps
 * listening, `end` finishes the HTTP message properly, so that only the content shows that something is
 * missing.
 */
type CutKind = 'fin' | 'rst' | 'half-close' | 'end';

export interface Delivery {
  /** Milliseconds before the head is sent. */
  readonly delayHeaders?: number;
  /** Milliseconds before each event. */
  readonly delayEvents?: number;
  /** Nothing is sent until this settles; `forever`: until the peer leaves. */
  readonly hold?: Promise<unknown> | 'forever';
  /** How many events are sent before the hold; unset, not even the head is. */
  readonly holdAfter?: number;
  /** Where the reply breaks off: after so many events or bytes of body, or, with neither, before the head. */
  readonly cut?: { readonly how: CutKind; readonly events?: number; readonly bytes?: number };
}

export interface Head {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
}

/** What went out, kept up to date while it does. */
export interface Sent {
  status: number | undefined;
  events: number;
  bytes: number;
  tokens: number;
  end: 'open' | 'complete' | 'cut' | 'closed-by-peer';
}

class PeerGone extends Error {}

/** Waits for a promise, but not beyond the peer's leaving. */
async function waitWhileOpen<Value>(
  response: ServerResponse,
  wait: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const controller = new AbortController();
  const left = Promise.withResolvers<never>();
  const leave = (): void => {
    controller.abort();
    left.reject(new PeerGone());
  };
  if (response.destroyed) throw new PeerGone();
  response.once('close', leave);
  try {
    return await Promise.race([wait(controller.signal), left.promise]);
  } finally {
    response.off('close', leave);
  }
}

function pause(response: ServerResponse, milliseconds: number | undefined): Promise<void> {
  if (!milliseconds) return Promise.resolve();
  return waitWhileOpen(response, async (signal) => {
    await sleep(milliseconds, undefined, { signal }).catch(() => undefined);
  });
}

function waitForRelease(response: ServerResponse, hold: Delivery['hold']): Promise<unknown> {
  return waitWhileOpen(response, () =>
    hold === 'forever' ? new Promise(() => undefined) : Promise.resolve(hold),
  );
}

/** Resolves when the operating system has the bytes, which also keeps an endless reply from piling up. */
function write(response: ServerResponse, bytes: Buffer): Promise<void> {
  return waitWhileOpen(response, () => new Promise((resolve) => response.write(bytes, () => resolve())));
}

async function writeFrame(response: ServerResponse, bytes: Buffer): Promise<void> {
  if (bytes.length === 0) return;
  await write(response, bytes);
  // A write that succeeds at once comes back without a turn of the event loop, and the peer's leaving would
  // never be seen.
  await new Promise(setImmediate);
}

function sever(response: ServerResponse, how: CutKind): void {
  const { socket } = response;
  if (how === 'end') response.end();
  else if (how === 'rst') socket?.resetAndDestroy();
  else if (how === 'half-close') socket?.end();
  else socket?.destroySoon();
}

/** Takes the place of a cut and what was sent; returns how many bytes of the next frame still go out. */
function computeAllowance({ events, bytes }: NonNullable<Delivery['cut']>, sent: Sent, frame: Frame): number {
  if (events !== undefined && frame.event && sent.events >= events) return 0;
  return bytes === undefined ? Infinity : bytes - sent.bytes;
}

async function play(
  response: ServerResponse,
  head: Head,
  frames: Iterable<Frame>,
  delivery: Delivery,
  sent: Sent,
): Promise<void> {
  const { hold, holdAfter, cut } = delivery;
  await pause(response, delivery.delayHeaders);
  if (hold && holdAfter === undefined) await waitForRelease(response, hold);
  if (cut && cut.events === undefined && cut.bytes === undefined) {
    sent.end = 'cut';
    return sever(response, cut.how);
  }
  sent.status = head.status;
  response.statusCode = head.status;
  for (const [name, value] of Object.entries(head.headers)) response.setHeader(name, value);
  response.flushHeaders();
  for (const frame of frames) {
    if (hold && frame.event && sent.events === holdAfter) await waitForRelease(response, hold);
    const allowed = cut ? computeAllowance(cut, sent, frame) : Infinity;
    if (allowed > 0) {
      if (frame.event) await pause(response, delivery.delayEvents);
      const bytes = frame.bytes.subarray(0, allowed);
      await writeFrame(response, bytes);
      sent.bytes += bytes.length;
    }
    if (allowed < frame.bytes.length) {
      sent.end = 'cut';
      return sever(response, cut?.how ?? 'fin');
    }
    sent.events += frame.event ? 1 : 0;
    sent.tokens += frame.tokens;
  }
  if (hold && holdAfter !== undefined && sent.events <= holdAfter) await waitForRelease(response, hold);
  if (cut) {
    const late = cut.events !== sent.events && cut.bytes !== sent.bytes;
    if (late)
      throw new Error(
        `a scenario's cut comes too late: the reply has ${sent.events} events in ${sent.bytes} bytes`,
      );
    sent.end = 'cut';
    return sever(response, cut.how);
  }
  await waitWhileOpen(response, () => new Promise<void>((resolve) => response.end(() => resolve())));
  sent.end = 'complete';
}

/** Sends a reply as the delivery says. Resolves when it is out, cut, or the peer has left. */
export async function deliver(
  response: ServerResponse,
  head: Head,
  frames: Iterable<Frame>,
  delivery: Delivery,
  sent: Sent,
): Promise<void> {
  try {
    await play(response, head, frames, delivery, sent);
  } catch (error) {
    if (!(error instanceof PeerGone)) throw error;
    sent.end = 'closed-by-peer';
  }
}
