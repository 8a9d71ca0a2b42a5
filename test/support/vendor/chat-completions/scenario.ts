/**
 * What a test has the vendor do with a call: what every vendor can do, and what only this wire has. An empty
 * scenario answers what the request asks for.
 */
import type { Scenario as AnyScenario } from '../scenario.ts';
import type { StepOf } from '../script-book.ts';
import type { ChatRequest } from './request.ts';
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

export interface Scenario extends Omit<AnyScenario, keyof Said | 'candidates' | 'usage' | 'fail'>, Said {
  /** The text of each candidate, if they differ; candidates without one of their own have the scenario's. */
  readonly candidates?: readonly Said[];
  /** `missing`: none though asked for; several: as many usage chunks (a JSON reply has the last). */
  readonly usage?: AnyScenario['usage'] | readonly Readonly<Record<string, unknown>>[];
  /**
   * Chunks to send unchanged in place of those that follow from the text; id, model and created are filled
   * in.
   */
  readonly chunks?: readonly object[];
  readonly fail?: StreamFailure;
  /** How often `[DONE]` is sent; once unless said. */
  readonly done?: number;
  /** Turns one event's data into a frame, if it is not the usual `data: …` and a blank line. */
  readonly frame?: (data: string) => string;
}

export type Step = StepOf<ChatRequest, Scenario>;

/** Comment lines as OpenRouter sends them while a model is not ready. */
export const processing = ': OPENROUTER PROCESSING\n\n';
