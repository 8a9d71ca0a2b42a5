/**
 * The process's log: one line of JSON for each event, on standard error. It never blocks. If nothing can be
 * written (a full disk, a closed pipe), lines are buffered up to a limit and then dropped. On a terminal,
 * lines are for people unless `TOLLGATE_LOG_FORMAT` says `json`.
 */
import { destination, pino, type Logger } from 'pino';
import { withTimeout } from '../util/timeouts.ts';

/**
 * Lines are collected to this many bytes before they are written, or for this many milliseconds: one write
 * per call would cost more than the line, and writes of 8 kB took a tenth of a call's time.
 */
const gathered = { minLength: 64 * 1024, maxWrite: 128 * 1024 };
const flushAfter = 100;
const maxLength = 16 * 1024 * 1024;
const longestEnd = 1000;

const levels = new Set([...Object.keys(pino.levels.values), 'silent']);

const pretty = process.stderr.isTTY ? (await import('pino-pretty')).default : undefined;

/** Formats lines for people. Flushes what it writes to. */
function formatForPeople(lines: ReturnType<typeof destination>) {
  if (process.env.TOLLGATE_LOG_FORMAT === 'json') return undefined;
  const stream = pretty?.({
    colorize: true,
    destination: lines,
    translateTime: 'SYS:HH:MM:ss',
    errorLikeObjectKeys: ['error'],
    singleLine: true,
  });
  return stream && Object.assign(stream, { flush: lines.flush.bind(lines) });
}

/** `file` is a path, or a descriptor. */
export function createLogger(file: string | number = 2): Logger {
  const lines = destination({ dest: file, sync: false, maxLength, contentMode: 'buffer', ...gathered });
  // It would join texts and measure all buffered ones with each line. Its type does not mention bytes.
  const write: CallableFunction = lines.write.bind(lines);
  let buffered = 0;
  let timer: NodeJS.Timeout | undefined;
  // The stream's own timer would also write nothing ten times a second.
  const flushSoon = (): void => {
    timer ??= setTimeout(() => {
      timer = undefined;
      if (buffered === 0) return;
      lines.flush();
      flushSoon();
    }, flushAfter).unref();
  };
  lines.on('write', (bytes: number) => (buffered -= bytes));
  lines.on('drop', (line: Uint8Array) => (buffered -= line.length));
  lines.write = (line: string | Uint8Array) => {
    const bytes = typeof line === 'string' ? Buffer.from(line) : line;
    buffered += bytes.length;
    flushSoon();
    return Boolean(write(bytes));
  };
  // pino's synchronous flush for fatal lines and at exit retries for ever if nothing can be written.
  lines.flushSync = () => undefined;
  lines.on('error', () => undefined);
  const level = process.env.TOLLGATE_LOG || 'info';
  const logger = pino(
    { level: levels.has(level) ? level : 'info', base: null, errorKey: 'error' },
    (file === 2 ? formatForPeople(lines) : undefined) ?? lines,
  );
  if (!levels.has(level))
    logger.warn(`TOLLGATE_LOG is "${level}" and is taken for "info"; it may be ${[...levels].join(', ')}`);
  return logger;
}

/** Resolves when all lines are written, or cannot be. The process may then exit. */
export async function flushLog(logger: Logger): Promise<void> {
  await withTimeout(new Promise<void>((resolve) => logger.flush(() => resolve())), longestEnd);
}
