/**
 * The process's log: a line of JSON for each thing that happens, on standard error. It must never hold up
 * what it tells of: while nothing can be written (a full disk, a reader that has gone) lines are kept as far
 * as there is room, and then left out.
 */
import { destination, pino, type Logger } from 'pino';
import { withTimeout } from '../util/timeouts.ts';

/**
 * Bytes that lines are gathered to before they are written, and milliseconds after which they are in any
 * case: a write a call costs more than the line.
 */
const gathered = { minLength: 8192, periodicFlush: 100 };
/** Bytes of lines that wait for a disk at most. */
const maxLength = 16 * 1024 * 1024;
/** Milliseconds that the last lines are waited for. */
const longestEnd = 1000;

const levels = new Set([...Object.keys(pino.levels.values), 'silent']);

export function createLogger(): Logger {
  const lines = destination({ dest: 2, sync: false, maxLength, ...gathered });
  // Its own way of writing at once, which pino takes for fatal lines and at the exit, tries again for ever
  // where nothing can be written.
  lines.flushSync = () => undefined;
  lines.on('error', () => undefined);
  const level = process.env.TOLLGATE_LOG || 'info';
  const logger = pino({ level: levels.has(level) ? level : 'info', base: null, errorKey: 'error' }, lines);
  if (!levels.has(level))
    logger.warn(`TOLLGATE_LOG is "${level}" and is taken for "info"; it may be ${[...levels].join(', ')}`);
  return logger;
}

/** Resolves when all lines are written, or cannot be: the process may exit. */
export async function allWritten(logger: Logger): Promise<void> {
  await withTimeout(new Promise<void>((resolve) => logger.flush(() => resolve())), longestEnd);
}
