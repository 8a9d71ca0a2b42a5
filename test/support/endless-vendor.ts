/**
 * A vendor of the four text wires that sends as much as is read: a given number of pieces, or for as long as
 * a client reads.
 */
import type { ServerResponse } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import type { CanonicalEvent } from '../../core/index.ts';
import { leastBodies } from './crossing.ts';
import { families, readCall, wires, type Wire } from './families.ts';
import { startScriptedVendor } from './scripted-vendor.ts';

/** A stream of one wire: how it opens, one piece of its text, and how it ends. */
interface Speech {
  readonly opening: string;
  say(text: string): string;
  end(): string;
}

function findWire(path: string): Wire {
  if (path.includes('/chat/completions')) return 'chat-completions';
  return wires.find((wire) => path.includes(`/${wire}`)) ?? 'generate-content';
}

/** The gateway writes the wire here: what it reads of it is the business of other tests. */
function createSpeech(path: string): Speech {
  const wire = findWire(path);
  const read = readCall(wire, leastBodies[wire], true);
  const call = { ...read, usageWanted: true, decode: () => read.decode() };
  const context = { id: 'x1', model: 'm', created: 1, call };
  const encoder = families[wire].protocol.client.encodeEvents(context);
  const write = (...events: readonly CanonicalEvent[]): string =>
    events.map((event) => encoder.push(event)).join('');
  const place = { candidate: 0, block: 0 };
  return {
    opening: write({ type: 'response-start' }, { type: 'block-start', ...place, kind: 'text' }),
    say: (text) => write({ type: 'block-delta', ...place, text }),
    end: () =>
      write(
        { type: 'block-end', ...place },
        { type: 'usage', usage: { input: 10, output: 100 } },
        { type: 'finish', candidate: 0, reason: { unified: 'stop', raw: 'stop' } },
        { type: 'response-end' },
      ),
  };
}

/**
 * Writes as much as the socket accepts, and no more, until `next` has nothing left or the peer has
 * disconnected. Waits after each text for `hold`.
 */
async function pour(
  response: ServerResponse,
  next: () => string | undefined,
  hold: () => Promise<void> | undefined,
): Promise<void> {
  let resume = (): void => undefined;
  response
    .writeHead(200, { 'content-type': 'text/event-stream' })
    .on('drain', () => resume())
    .on('close', () => resume());
  for (let text = next(); text !== undefined && !response.destroyed; text = next()) {
    if (!response.write(text)) await new Promise<void>((resolve) => void (resume = resolve));
    const held = hold();
    if (held) await held;
  }
}

/** Writes whether the peer reads or not, until it has disconnected; other work runs in between. */
async function goOn(response: ServerResponse, next: () => string): Promise<void> {
  while (!response.destroyed) {
    response.write(next());
    await turn();
  }
}

export interface Firehose {
  /** The provider options that make a gateway use it for each of its providers. */
  readonly environment: Readonly<Record<string, string>>;
  /** Events that went out so far, to all. */
  poured(): number;
  close(): Promise<void>;
}

/**
 * `word` gets the number of each piece of a stream, from 1, and returns its text; undefined ends the stream.
 * `encore` is repeated without end after it. `hold` gets the number of the next piece, which waits for it.
 */
export async function startFirehose(
  word: (number: number) => string | undefined,
  encore?: string,
  hold: (number: number) => Promise<void> | undefined = () => undefined,
): Promise<Firehose> {
  let poured = 0;
  const vendor = await startScriptedVendor(async (response, { url = '' }) => {
    const { opening, say, end } = createSpeech(url);
    let [number, over] = [0, false];
    const next = (): string | undefined => {
      if (over) return undefined;
      poured += 1;
      const text = word(number + 1);
      over = text === undefined;
      if (text === undefined) return end();
      number += 1;
      return number === 1 ? opening + say(text) : say(text);
    };
    await pour(response, next, () => hold(number + 1));
    if (encore !== undefined) {
      // Its stream's own encoder writes nothing after the end.
      const frame = createSpeech(url).say(encore);
      await goOn(response, () => {
        poured += 1;
        return frame;
      });
    }
    response.end();
  });
  return {
    environment: {
      OPENAI_BASE_URL: `${vendor.origin}/v1`,
      ANTHROPIC_BASE_URL: vendor.origin,
      GOOGLE_GEMINI_BASE_URL: vendor.origin,
    },
    poured: () => poured,
    close: () => vendor.close(),
  };
}
