/**
 * One line of JSON a call: who called what, who answered, how it ended, what it took and cost. Never a prompt, a
 * reply or a key. Calls that were not recognised are told at the level `debug` alone, since anybody can make
 * thousands of them; the metrics count them.
 */
import { z } from 'zod';
import { definePlugin, formatUsd, type End } from '../../core/index.ts';

/** Names and losses are the caller's to choose: a hostile request could have a line of megabytes written. */
const longestName = 200;
const mostLosses = 50;

/** How a call ended, in the line's words. */
function outcomeOf(end: End): string {
  return end.type === 'answered' ? end.outcome : end.type;
}

function statusOf(end: End): number {
  if (end.type === 'replayed') return end.replay.status;
  return end.error?.status ?? 200;
}

/** What is known of a call whose vendor was asked. */
function answerOf(end: End): object {
  if (end.type !== 'answered' && end.type !== 'failed') return {};
  const { charge, exchange } = end;
  const { target, firstEventAfter } = exchange.attempt;
  return {
    provider: target.provider.name,
    answered: target.model.id,
    firstEventMs: firstEventAfter === undefined ? undefined : Math.round(firstEventAfter),
    usage: charge.usage,
    basis: charge.basis,
    cost: formatUsd(charge.cost),
  };
}

/** Of what was lost, as much as a line can hold. */
function lostOf({ losses }: End): object {
  if (losses.length === 0) return {};
  const lost = losses.slice(0, mostLosses).map(({ path, reason, code }) => ({ path: path.slice(0, longestName), reason, code }));
  return losses.length > mostLosses ? { lost, lostOmitted: losses.length - mostLosses } : { lost };
}

function lineOf(end: End): object {
  const { exchange, attempts } = end;
  return {
    call: exchange.id,
    protocol: exchange.family,
    operation: exchange.operation,
    address: exchange.address,
    account: exchange.principal?.account,
    key: exchange.principal?.key,
    model: exchange.call?.model.slice(0, longestName),
    stream: exchange.call?.stream,
    outcome: outcomeOf(end),
    status: statusOf(end),
    code: end.type === 'replayed' ? undefined : end.error?.code,
    ...answerOf(end),
    attempts: attempts.length,
    failed: attempts.flatMap(({ target, error }) => (error ? [{ provider: target.provider.name, code: error.code }] : [])),
    ...lostOf(end),
    ms: Math.round(end.duration),
  };
}

export const callLog = definePlugin({
  name: 'call-log',
  options: z.strictObject({}),
  apply({ hooks, logger }) {
    hooks.observe.tap('call-log', (end) => {
      const unknown = end.type === 'refused' && end.exchange.principal === undefined;
      logger[unknown ? 'debug' : 'info'](lineOf(end), 'call');
      // What a client is told of as internal is told here with its cause.
      if (end.type !== 'replayed' && end.error?.code === 'internal') logger.error({ call: end.exchange.id, error: end.error }, 'a call failed within the gateway');
    });
  },
});
