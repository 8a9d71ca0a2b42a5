/**
 * `GET /v1/calls/{id}`: what became of a call, for the key that made it; the id is what its reply carried in
 * `x-request-id`. It lists every attempt and everything that was lost, which a header may have no room for.
 * The last calls are kept in memory and the oldest forgotten; prompts and replies are never kept. Where
 * several workers share the port, each keeps its own calls and asks the others for those it does not know.
 */
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import {
  definePlugin,
  formatUsd,
  GatewayError,
  toGatewayError,
  type Attempt,
  type End,
  type Loss,
  type Principal,
  type Routed,
  type Workers,
} from '../../core/index.ts';
import { encodeError } from '../shared/wire-kit/openai-error.ts';

const options = z.strictObject({
  /** How many calls are remembered. */
  most: z.int().positive().default(10_000),
});

/** Losses shown of one attempt or reply. A hostile request could have thousands. */
const mostLosses = 200;
/** Characters kept of names that the caller chose. */
const longestName = 200;
/** Characters a call may have on average. It keeps hostile calls with many losses from filling the memory. */
const usualLength = 4096;

const keptSchema = z.object({
  /** The key that made the call. */
  key: z.string(),
  /**
   * The reply as JSON text: the garbage collector need not walk through one string, but through ten thousand
   * objects it would.
   */
  body: z.string(),
});

type Kept = z.output<typeof keptSchema>;

interface Memory {
  readonly calls: LRUCache<string, Kept>;
  /** Stops answering other workers that ask for these calls. */
  close(): void;
}

function remember(most: number, workers: Workers): Memory {
  const calls = new LRUCache<string, Kept>({
    max: most,
    maxSize: most * usualLength,
    sizeCalculation: ({ body }) => body.length,
  });
  return {
    calls,
    close: workers.answer('calls', (id) => (typeof id === 'string' ? calls.get(id) : undefined)),
  };
}

function lossesOf(losses: readonly Loss[]): object {
  const told = losses
    .slice(0, mostLosses)
    .map(({ path, reason, code }) => ({ path: path.slice(0, longestName), reason, code }));
  return losses.length > mostLosses
    ? { losses: told, losses_omitted: losses.length - mostLosses }
    : { losses: told };
}

function milliseconds(value: number | undefined): number | null {
  return value === undefined ? null : Math.round(value);
}

function attemptOf(
  { target, number, status, sent, firstEventAfter, duration, error, losses }: Attempt,
  cost: bigint,
): object {
  const { name, credential } = target.provider;
  return {
    number,
    provider: name,
    ...(credential === undefined ? {} : { key: credential }),
    model: target.model.id,
    outcome: error?.code ?? 'completed',
    ...(error ? { message: error.message } : {}),
    sent,
    status: status ?? null,
    first_event_ms: milliseconds(firstEventAfter),
    duration_ms: milliseconds(duration),
    cost: formatUsd(cost),
    ...lossesOf(losses),
  };
}

/** Targets that the call was not allowed to go to, since it could have cost more there than was reserved. */
function notGranted({ targets, grant }: Routed): object {
  const left = targets
    .filter((target) => !grant.targets.includes(target))
    .map(({ provider, model }) => ({ provider: provider.name, model: model.id }));
  return left.length > 0 ? { not_granted: left } : {};
}

function bodyOf(end: End): object {
  const { exchange, attempts, type } = end;
  const isAnswer = type === 'answered' || type === 'failed';
  const charge = isAnswer ? end.charge : undefined;
  const answering = isAnswer ? end.exchange.attempt : undefined;
  return {
    id: exchange.id,
    object: 'call',
    created: Math.floor(exchange.receivedAt / 1000),
    protocol: exchange.family,
    operation: exchange.operation,
    stream: exchange.call?.stream ?? false,
    model: exchange.call?.model.slice(0, longestName) ?? null,
    outcome: type === 'answered' ? end.outcome : type,
    error: type === 'replayed' || !end.error ? null : { code: end.error.code, message: end.error.message },
    provider: type === 'answered' ? (answering?.target.provider.name ?? null) : null,
    answered_by: type === 'answered' ? (answering?.target.model.id ?? null) : null,
    duration_ms: Math.round(end.duration),
    cost: formatUsd(charge?.cost ?? 0n),
    cost_basis: charge?.basis ?? 'none',
    rule: charge?.rule || null,
    usage: charge?.usage ?? {},
    ...lossesOf(end.losses),
    ...(isAnswer ? notGranted(end.exchange) : {}),
    attempts: attempts.map((attempt) =>
      attemptOf(attempt, attempt === answering ? (charge?.cost ?? 0n) : 0n),
    ),
  };
}

async function find(
  memory: Memory | undefined,
  id: string,
  { key }: Principal,
  workers: Workers,
): Promise<Kept> {
  const kept = memory?.calls.get(id) ?? keptSchema.safeParse(await workers.askOthers('calls', id)).data;
  // Another key's call gets the same answer as one that never was, so that ids cannot be probed.
  if (kept?.key === key) return kept;
  throw new GatewayError('not_found', `No call "${id.slice(0, 100)}" of this key is remembered.`, {
    param: 'id',
  });
}

export const calls = definePlugin({
  name: 'calls',
  options,
  apply({ hooks, routes, resource, workers }, { most }) {
    let memory: Memory | undefined;
    hooks.ready.tapPromise('calls', async () => {
      memory = await resource(
        'calls',
        { most },
        () => remember(most, workers),
        ({ close }) => close(),
      );
    });
    hooks.observe.tap('calls', (end) => {
      const { id, principal } = end.exchange;
      if (principal) memory?.calls.set(id, { key: principal.key, body: JSON.stringify(bodyOf(end)) });
    });
    routes.add({
      name: 'calls',
      method: 'GET',
      path: '/v1/calls/:id',
      access: 'user',
      errors: (error) => encodeError(toGatewayError(error)),
      openapi: async () => (await import('./calls/description.ts')).oneCall,
      handle: async ({ params: { id = '' } }, principal) => {
        const { body } = await find(memory, id, principal, workers);
        return {
          status: 200,
          headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
          body,
        };
      },
    });
  },
});
