/**
 * One line for each call: its record as JSON, without a prompt, a reply or a key, and on a terminal the
 * little that people look for. Calls without a valid key are only logged at the level `debug`; the metrics
 * count them.
 */
import { styleText } from 'node:util';
import { symbols } from 'pino';
import { z } from 'zod';
import { definePlugin, formatUsd, type End, type Host } from '../../core/index.ts';
import { chooseLevel, buildLoggedText, type CallRecord } from '../shared/calls/record.ts';

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

/** Characters that could steer the terminal: clients choose the names of models. */
const unprintable = /\p{Cc}|\p{Bidi_Control}/gu;

/** `$0.0009`: two figures, and cents of larger amounts. */
function formatCost(nano: string): string {
  const usd = Number(formatUsd(BigInt(nano)));
  return `$${usd >= 1 ? usd.toFixed(2) : usd.toLocaleString('en', { maximumSignificantDigits: 2 })}`;
}

/** `21:44:03 200 search/ada openai/gpt-5.4 1.2s 799→80 $0.0009` */
export function formatCallLine(end: End): string {
  const record: CallRecord = JSON.parse(buildLoggedText(end));
  const { ended, status, account, asked, model, duration, input, output, cost, code } = record;
  const { key = '', name = '' } = end.exchange.principal ?? {};
  const refused = status < 500 ? 'yellow' : 'red';
  const paint = status < 400 ? 'green' : refused;
  const parts = [
    styleText('dim', new Date(ended).toTimeString().slice(0, 8), { validateStream: false }),
    styleText(paint, String(status), { validateStream: false }),
    [account, name || key.slice(0, 8)].filter(Boolean).join('/').replaceAll(unprintable, '\u{fffd}'),
    (model || (asked ?? '')).replaceAll(unprintable, '\u{fffd}'),
    duration < 1000 ? `${duration}ms` : `${(duration / 1000).toFixed(1)}s`,
    input + output > 0 ? `${input}→${output}` : '',
    formatCost(cost),
    code === null ? '' : styleText(paint, code, { validateStream: false }),
  ];
  return parts.filter((part) => part !== '').join(' ');
}

/** A terminal's log is for people unless its format is set. */
const isForPeople = process.stderr.isTTY && process.env.TOLLGATE_LOG_FORMAT !== 'json';

export const callLog = definePlugin({
  name: 'call-log',
  options: z.strictObject({}),
  apply({ hooks, logger }) {
    if (!hasStream(logger)) throw new TypeError('the call log needs a logger that writes to a stream');
    // The record is a line as pino writes it.
    hooks.observe.tap('call-log', (end) => {
      if (logger.isLevelEnabled(chooseLevel(end)))
        logger[symbols.streamSym].write(buildLine(isForPeople ? formatCallLine(end) : buildLoggedText(end)));
    });
  },
});
