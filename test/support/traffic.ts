/**
 * Sends calls through routing plugins on a simulated clock, to vendors that are a function. Hours pass in a
 * moment, and each run has the same calls. It does a small part of what the pipeline does with targets and
 * attempts.
 */
import { vi } from 'vitest';
import type { z } from 'zod';
import {
  checkModel,
  freePrice,
  GatewayError,
  isGatewayError,
  type Attempt,
  type ModelFacts,
  type Plugin,
  type Preferences,
  type Provider,
  type Routed,
  type Target,
  type Workers,
} from '../../core/index.ts';
import { buildFinalError } from '../../core/upstream/failures.ts';
import {
  type Next,
  type NoneLeft,
  Retries,
  planFirstAttempt,
  retriesSchema,
} from '../../core/upstream/retries.ts';
import { Cancellation } from '../../core/util/cancellation.ts';
import { buildRouted } from './exchange.ts';
import { createHost, type TestHost } from './host.ts';
import { plainProtocol } from './plain-protocol.ts';
import { buildModelFacts } from './test-provider.ts';

/** What a vendor does with a call: after so many milliseconds it answers, or fails. */
interface Deed {
  readonly after: number;
  readonly error?: GatewayError;
  readonly status?: number;
  /** Milliseconds the reply continues after its first event; 0 by default. */
  readonly lasts?: number;
}

export type Vendor = (target: Target, number: number) => Deed;

export interface Outcome {
  /** The provider that answered, and with which key. */
  readonly provider: string | undefined;
  readonly credential: number | undefined;
  readonly error: GatewayError | undefined;
  /** Milliseconds to the first event or the error. */
  readonly took: number;
  readonly attempts: number;
  /** Attempts that reached a vendor. */
  readonly sent: number;
}

export function buildTarget(name: string, facts: Partial<ModelFacts> = {}, credential?: number): Target {
  const provider: Provider = {
    name,
    endpoints: {},
    sign: (request) => request,
    ...(credential === undefined ? {} : { credential }),
  };
  const model = checkModel(buildModelFacts(facts));
  return {
    provider,
    model,
    price: model.price ?? freePrice,
    protocol: plainProtocol,
  };
}

export interface Call {
  readonly stream?: boolean;
  readonly preferences?: Preferences;
  /** The client's body, if it matters. */
  readonly text?: string;
  readonly headers?: Record<string, string>;
  /** Milliseconds after which the client disconnects. */
  readonly leavesAfter?: number;
}

function buildExchange(
  target: Target,
  { stream = true, preferences = {}, text, headers = {} }: Call,
  cancellation = new Cancellation(),
): Routed {
  const exchange = buildRouted(target, { stream, cancellation });
  const call = {
    ...exchange.call,
    preferences,
    size: { textBytes: text?.length ?? 100, images: 0, mediaBytes: 0 },
  };
  return { ...exchange, call, headers, text: text ?? exchange.text };
}

export interface Surroundings {
  /** The other workers. */
  readonly workers?: Workers | undefined;
  readonly retries?: z.input<typeof retriesSchema>;
}

export class Traffic {
  readonly host: TestHost;
  /** How often each vendor was called. */
  readonly asked = new Map<string, number>();
  readonly #vendor: Vendor;
  readonly #retries: Retries;
  #calls = 0;

  /** Call `vi.useFakeTimers()` first. */
  constructor(plugins: readonly Plugin[], vendor: Vendor, { workers, retries = {} }: Surroundings = {}) {
    this.#retries = new Retries(retriesSchema.parse(retries));
    this.host = createHost(plugins, undefined, workers);
    this.#vendor = vendor;
  }

  /** Lets time pass. */
  static async wait(milliseconds: number): Promise<void> {
    await vi.advanceTimersByTimeAsync(milliseconds);
  }

  async open(): Promise<void> {
    await this.host.calls.ready.promise();
  }

  /** The order in which a call would try the targets. */
  async route(targets: readonly Target[], call: Call = {}): Promise<readonly Target[]> {
    const [first] = targets;
    if (!first) throw new Error('no targets');
    return this.host.calls.route.promise(targets, buildExchange(first, call));
  }

  async call(targets: readonly Target[], call: Call = {}): Promise<Outcome> {
    const began = performance.now();
    const order = await this.route(targets, call);
    this.#calls += 1;
    const id = `call-${this.#calls}`;
    const attempts: Attempt[] = [];
    const leaving = new Cancellation();
    if (call.leavesAfter !== undefined) setTimeout(() => leaving.cancel(), call.leavesAfter);
    for (let next: Next | NoneLeft = planFirstAttempt(order[0]); next.target;) {
      const { target, isRetry, withoutReasoning } = next;
      const exchange: Routed = {
        ...buildExchange(target, call, leaving),
        startedAt: began,
        grant: { targets: order },
      };
      const attempt: Attempt = {
        ...exchange.attempt,
        isRetry,
        withoutReasoning,
        number: attempts.length + 1,
        startedAt: performance.now(),
      };
      attempts.push(attempt);
      const error = await this.#attempt({ ...exchange, id, attempt });
      if (error) next = await this.#retries.planNextAttempt({ ...exchange, attempt }, attempts);
      const sum = {
        took: performance.now() - began,
        attempts: attempts.length,
        sent: attempts.filter(({ sent }) => sent).length,
      };
      if (!error)
        return {
          provider: target.provider.name,
          credential: target.provider.credential,
          error: undefined,
          ...sum,
        };
      if (!next.target)
        return {
          provider: undefined,
          credential: undefined,
          error: buildFinalError(attempts, error, next.isFinal),
          ...sum,
        };
    }
    throw new Error('no target was left');
  }

  /** Returns why it failed. A reply that continues ends later, by itself. */
  async #attempt(exchange: Routed): Promise<GatewayError | undefined> {
    const { attempt } = exchange;
    const { dispatch } = this.host.calls;
    const hook = {
      call: (...args: [Attempt, Routed]) => {
        this.#retries.note(args[0]);
        this.host.calls.attempt.call(...args);
      },
    };
    const end = (error?: GatewayError): GatewayError | undefined => {
      Object.assign(attempt, { phase: 'end', error, duration: performance.now() - attempt.startedAt });
      hook.call(attempt, exchange);
      return error;
    };
    hook.call(attempt, exchange);
    try {
      await dispatch.promise(
        { method: 'POST', url: 'http://vendor.invalid', headers: {}, body: '' },
        exchange,
      );
    } catch (thrown) {
      return end(isGatewayError(thrown) ? thrown : undefined);
    }
    const { name } = attempt.target.provider;
    const number = (this.asked.get(name) ?? 0) + 1;
    this.asked.set(name, number);
    attempt.sent = true;
    const { after, error, status, lasts = 0 } = this.#vendor(attempt.target, number);
    await new Promise<void>((resolve) => {
      setTimeout(resolve, after);
      exchange.cancellation.onCancel(resolve);
    });
    if (exchange.cancellation.cancelled) return end(new GatewayError('client_gone', 'The client left.'));
    attempt.status = status ?? (error ? undefined : 200);
    if (error) return end(error);
    Object.assign(attempt, { phase: 'first-event', firstEventAfter: performance.now() - attempt.startedAt });
    hook.call(attempt, exchange);
    if (lasts > 0) setTimeout(() => end(), lasts);
    else end();
    return undefined;
  }
}

/** The value that this share of the others is below. */
export function computePercentile(figures: readonly number[], share: number): number {
  const sorted = figures.toSorted((first, second) => first - second);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? 0;
}

/** Two workers, each with its own traffic, that notify each other; both know these targets. */
export async function openWorkerPair(
  plugins: () => readonly Plugin[],
  vendor: Vendor,
  targets: readonly Target[],
): Promise<[Traffic, Traffic]> {
  const heard = [
    new Map<string, (said: unknown) => unknown>(),
    new Map<string, (said: unknown) => unknown>(),
  ];
  const createLine = (own: number): Workers => ({
    several: true,
    notify(topic, said) {
      void this.askForFirstAnswer(topic, said);
    },
    askForFirstAnswer: async (topic, said) => heard[1 - own]?.get(topic)?.(JSON.parse(JSON.stringify(said))),
    async askForAllAnswers(topic, said) {
      const given: unknown = await this.askForFirstAnswer(topic, said);
      return given === undefined ? [] : [given];
    },
    askSupervisor: async () => undefined,
    answer(topic, answer) {
      heard[own]?.set(topic, answer);
      return () => void heard[own]?.delete(topic);
    },
  });
  const workers: [Traffic, Traffic] = [
    new Traffic(plugins(), vendor, { workers: createLine(0) }),
    new Traffic(plugins(), vendor, { workers: createLine(1) }),
  ];
  for (const each of workers) {
    for (const { provider, model } of targets) each.host.catalog.offer(provider, [model]);
    await each.open();
  }
  return workers;
}
