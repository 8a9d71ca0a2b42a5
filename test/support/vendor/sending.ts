/**
 * The frames of a vendor's stream, with whatever a scenario adds or breaks off with.
 */
import type { Frame } from './delivery.ts';
import type { Scenario } from './scenario.ts';

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

/** What all sources yield, an item of each in turn, as a vendor that works on them at once sends it. */
export function* takeTurns<Item>(
  sources: readonly Generator<Item>[],
): Generator<{ readonly index: number; readonly item: Item }> {
  let open = [...sources.entries()];
  while (open.length) {
    const going: typeof open = [];
    for (const [index, source] of open) {
      const { value, done } = source.next();
      if (done) continue;
      yield { index, item: value };
      going.push([index, source]);
    }
    open = going;
  }
}
