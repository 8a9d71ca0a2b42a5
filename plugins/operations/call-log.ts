/**
 * One line of JSON for each call: its record, without a prompt, a reply or a key. Calls without a valid key
 * are only logged at the level `debug`; the metrics count them.
 */
import { symbols } from 'pino';
import { z } from 'zod';
import { definePlugin, type Host } from '../../core/index.ts';
import { chooseLevel, buildLoggedText } from '../shared/calls/record.ts';

const lineFeed = 10;

interface Streaming {
  readonly [symbols.streamSym]: { write(line: Uint8Array): unknown };
}

function hasStream(logger: Host['logger']): logger is Host['logger'] & Streaming {
  return symbols.streamSym in logger;
}

/** The text with a line feed. Concatenating strings would copy a kilobyte to V8's heap. */
function buildLine(text: string): Buffer {
  const line = Buffer.allocUnsafe(Buffer.byteLength(text) + 1);
  line.writeUInt8(lineFeed, line.write(text));
  return line;
}

export const callLog = definePlugin({
  name: 'call-log',
  options: z.strictObject({}),
  apply({ hooks, logger }) {
    if (!hasStream(logger)) throw new TypeError('the call log needs a logger that writes to a stream');
    // The record is a line as pino writes it.
    hooks.observe.tap('call-log', (end) => {
      if (logger.isLevelEnabled(chooseLevel(end)))
        logger[symbols.streamSym].write(buildLine(buildLoggedText(end)));
    });
  },
});
