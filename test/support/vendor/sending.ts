/**
 * Sends a vendor's reply: in one piece, or event by event, with whatever a scenario adds or breaks off with.
 */
import type { ServerResponse } from 'node:http';
import { deliver, type Delivery, type Frame, type WholeReply } from './delivery.ts';
import type { Scenario } from './scenario.ts';
import type { JournalEntry } from './server.ts';

export type Headers = Readonly<Record<string, string | readonly string[]>>;

function buildWholeFrame(body: WholeReply['body']): Frame {
  const bytes =
    typeof body === 'string' || body instanceof Uint8Array
      ? Buffer.from(body)
      : Buffer.from(JSON.stringify(body));
  return { bytes, tokens: 0, event: true };
}

export async function sendWhole(
  reply: WholeReply,
  usual: Headers,
  delivery: Delivery,
  response: ServerResponse,
  entry: JournalEntry,
): Promise<void> {
  const frame = buildWholeFrame(reply.body);
  // A reply that will break off has no length it could be held to.
  const length = delivery.cut?.how === 'end' ? {} : { 'content-length': String(frame.bytes.length) };
  const headers = { 'content-type': 'application/json', ...usual, ...length, ...reply.headers };
  await deliver(response, { status: reply.status, headers }, [frame], delivery, entry);
}

/** One event of a stream, framed, and the tokens of output it delivers. */
export interface SentEvent {
  readonly frame: string;
  readonly tokens: number;
}

function buildFrame(frame: string, tokens = 0): Frame {
  return { bytes: Buffer.from(frame), tokens, event: true };
}

/** What a scenario does to the events of a stream, whatever they say. */
type Staging = Pick<Scenario, 'inserts' | 'endlessLine'> & { readonly fail?: { readonly after: number } };

/** Takes a reply's events and the wire's error event; returns the frames as the scenario says. */
export function* stageFrames(
  events: Iterable<SentEvent>,
  scenario: Staging,
  failure: (sent: number) => readonly string[],
): Generator<Frame> {
  const inserts = scenario.inserts ?? [];
  const listInserts = (place: number | 'end'): Frame[] =>
    inserts
      .filter(({ before }) => before === place)
      .map(({ frame }) => ({ bytes: Buffer.from(frame), tokens: 0, event: false }));
  let sent = 0;
  for (const { frame, tokens } of events) {
    yield* listInserts(sent);
    if (scenario.endlessLine === sent) {
      yield buildFrame('data: {"text":"');
      const piece = buildFrame('more and more and more and more and more and more and more '.repeat(1000));
      for (;;) yield piece;
    }
    if (scenario.fail?.after === sent) {
      for (const text of failure(sent)) yield buildFrame(text);
      return;
    }
    yield buildFrame(frame, tokens);
    sent += 1;
  }
  yield* listInserts(sent);
  yield* listInserts('end');
  if (scenario.fail) throw new Error(`a scenario's failure comes too late: the reply has ${sent} events`);
}

export async function sendStream(
  frames: Iterable<Frame>,
  headers: Headers,
  scenario: Delivery & Pick<Scenario, 'headers'>,
  response: ServerResponse,
  entry: JournalEntry,
): Promise<void> {
  await deliver(
    response,
    { status: 200, headers: { 'cache-control': 'no-cache', ...headers, ...scenario.headers } },
    frames,
    scenario,
    entry,
  );
}
