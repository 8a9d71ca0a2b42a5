/**
 * One line of JSON for each call: who called what, who answered, how it ended, what it took and cost; never a
 * prompt, a reply or a key. Calls without a valid key are only logged at the level `debug`, since anybody can
 * make thousands of them; the metrics count them.
 */
import { symbols } from 'pino';
import { z } from 'zod';
import { definePlugin, formatUsd, type End, type Host } from '../../core/index.ts';
import { attributionOf } from '../shared/attribution.ts';

/**
 * Characters of a name that is logged. Callers choose names and losses, and a hostile request could make a
 * line of megabytes.
 */
const longestName = 200;
const mostLosses = 50;

/** How the line names a call's end. */
function outcomeOf(end: End): string {
  return end.type === 'answered' ? end.outcome : end.type;
}

function statusOf(end: End): number {
  if (end.type === 'replayed') return end.replay.status;
  return end.error?.status ?? 200;
}

/** As many of the losses as a line can hold. */
function lostOf({ losses }: End): object | undefined {
  if (losses.length === 0) return undefined;
  return losses
    .slice(0, mostLosses)
    .map(({ path, reason, code }) => ({ path: path.slice(0, longestName), reason, code }));
}

function failedOf({ attempts }: End): object | undefined {
  const failed = attempts.flatMap(({ target, error }) =>
    error ? [{ provider: target.provider.name, code: error.code }] : [],
  );
  return failed.length > 0 ? failed : undefined;
}

/**
 * One flat literal, since it is written for every call. Members that are undefined are left out of the line.
 */
function lineOf(end: End, level: number, plugin: string): object {
  const { exchange, attempts, losses } = end;
  const { texts: tags } = attributionOf(exchange);
  const answer = end.type === 'answered' || end.type === 'failed' ? end : undefined;
  const attempt = answer?.exchange.attempt;
  return {
    level,
    time: Date.now(),
    plugin,
    call: exchange.id,
    protocol: exchange.family,
    operation: exchange.operation,
    address: exchange.address,
    account: exchange.principal?.account,
    key: exchange.principal?.key,
    tags: tags.length > 0 ? tags : undefined,
    model: exchange.call?.model.slice(0, longestName),
    stream: exchange.call?.stream,
    outcome: outcomeOf(end),
    status: statusOf(end),
    code: end.type === 'replayed' ? undefined : end.error?.code,
    provider: attempt?.target.provider.name,
    answered: attempt?.target.model.id,
    firstEventMs: attempt?.firstEventAfter === undefined ? undefined : Math.round(attempt.firstEventAfter),
    usage: answer?.charge.usage,
    basis: answer?.charge.basis,
    rule: answer?.charge.rule || undefined,
    cost: answer && formatUsd(answer.charge.cost),
    attempts: attempts.length,
    failed: failedOf(end),
    lost: lostOf(end),
    lostOmitted: losses.length > mostLosses ? losses.length - mostLosses : undefined,
    ms: Math.round(end.duration),
    msg: 'call',
  };
}

interface Streaming {
  readonly [symbols.streamSym]: { write(line: string): unknown };
}

function hasStream(logger: Host['logger']): logger is Host['logger'] & Streaming {
  return symbols.streamSym in logger;
}

export const callLog = definePlugin({
  name: 'call-log',
  options: z.strictObject({}),
  apply({ hooks, logger }) {
    if (!hasStream(logger)) throw new TypeError('the call log needs a logger that writes to a stream');
    hooks.observe.tap('call-log', (end) => {
      const level = end.type === 'refused' && !end.exchange.principal ? 'debug' : 'info';
      // Written as pino writes its lines. pino joins a line from a text for each member: twice the memory.
      if (logger.isLevelEnabled(level))
        logger[symbols.streamSym].write(
          `${JSON.stringify(lineOf(end, logger.levels.values[level] ?? 0, 'call-log'))}\n`,
        );
    });
  },
});
