/**
 * What a test has the vendor do with a call: what every vendor can do, and what only this wire has. An empty
 * scenario answers what the request asks for.
 */
import type { Scenario as AnyScenario } from '../scenario.ts';
import type { Said } from './speech.ts';

export type { UsageFigures } from '../scenario.ts';

/** An error inside a stream that had begun well. */
export interface StreamFailure {
  /** How many events are sent first. */
  readonly after: number;
  /**
   * `data`: an error object in place of a chunk, then the end, as OpenAI does. `event`: the same named
   * `event: error`, as Groq does. `chunk`: a chunk that holds an error beside its choices, then `[DONE]`, as
   * OpenRouter does.
   */
  readonly as?: 'data' | 'event' | 'chunk';
  readonly error?: Readonly<Record<string, unknown>>;
}

export interface Scenario extends Omit<AnyScenario, keyof Said | 'candidates' | 'fail'>, Said {
  /** The text of each candidate, if they differ; candidates without one of their own have the scenario's. */
  readonly candidates?: readonly Said[];
  readonly fail?: StreamFailure;
}
