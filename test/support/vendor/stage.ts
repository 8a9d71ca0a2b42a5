/**
 * What all vendors share: a URL, a key, a script for each model, and a journal of what arrived. A wire is a
 * `Play`, a function that answers a call.
 */
import type { ServerResponse } from 'node:http';
import type { Scenario } from './scenario.ts';
import type { ScriptBook, StepOf } from './script-book.ts';
import { listen, type JournalEntry, type ReceivedRequest } from './server.ts';

export type Step<Request = unknown> = StepOf<Request, Scenario>;

export interface Stage<Request = unknown, Own extends object = Scenario> {
  /** Its address as the vendor's SDK wants it. */
  readonly url: string;
  /** The only key it accepts. */
  readonly key: string;
  readonly requests: readonly ReceivedRequest[];
  readonly journal: readonly JournalEntry[];
  /**
   * Sets what a model does, by its exact name or by the end of one as `*-cut`. Each call takes the next step,
   * all later ones the last. A scripted model need not be known otherwise. Token counts take no step.
   */
  script(model: string, ...steps: readonly [StepOf<Request, Own>, ...StepOf<Request, Own>[]]): void;
  /** Forgets all scripts. */
  unscript(): void;
  openConnections(): number;
  close(): Promise<void>;
}

export interface PlayedCall {
  readonly received: ReceivedRequest;
  readonly response: ServerResponse;
  readonly entry: JournalEntry;
}

export interface Play<Request, Own extends object = Scenario> {
  readonly key: string;
  readonly scripts: ScriptBook<Request, Own>;
  /** Names of headers that are its business though they would be a leak elsewhere. */
  readonly headers: readonly string[];
  answer(call: PlayedCall): Promise<void>;
}

/** Opens a vendor; `base` is the path of its SDK's base URL. */
export async function openStage<Request, Own extends object>(
  play: Play<Request, Own>,
  base = '',
): Promise<Stage<Request, Own>> {
  const server = await listen(
    (received, response, entry) => play.answer({ received, response, entry }),
    play.headers,
  );
  return {
    url: `${server.origin}${base}`,
    key: play.key,
    requests: server.requests,
    journal: server.journal,
    script: (model, ...steps) => play.scripts.set(model, steps),
    unscript: () => play.scripts.clear(),
    openConnections: () => server.openConnections(),
    close: () => server.close(),
  };
}
