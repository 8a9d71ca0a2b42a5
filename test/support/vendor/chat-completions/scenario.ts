/**
 * What a test has the vendor do with a call. Everything is optional and goes with everything else that makes
 * sense beside it: `{ text: ['Hel', 'lo'], cut: { how: 'rst', events: 2 } }`. An empty scenario is a plain reply.
 */
import type { Delivery, WholeReply } from '../delivery.ts';
import type { ReceivedRequest } from '../server.ts';
import type { ChatRequest } from './request.ts';
import type { Said } from './speech.ts';

/** Figures to put over the true ones, of any type: a vendor that lies, lies in these. */
export type UsageFigures = Readonly<Record<string, unknown>>;

/** A frame that is no part of the reply proper. */
export interface Insert {
  /** Before which event, from 0; `end`: after everything. */
  readonly before: number | 'end';
  readonly frame: string;
}

/** An error inside a stream that had begun well. */
export interface StreamFailure {
  /** How many events are sent first. */
  readonly after: number;
  /**
   * `data`: an error object in place of a chunk, then the end, as OpenAI does. `event`: the same named `event: error`,
   * as Groq does. `chunk`: a chunk that holds an error beside its choices, then `[DONE]`, as OpenRouter does.
   */
  readonly as: 'data' | 'event' | 'chunk';
  readonly error?: Readonly<Record<string, unknown>>;
}

export interface Scenario extends Said, Delivery {
  /** What each candidate says, where they differ; candidates without words of their own say the scenario's. */
  readonly candidates?: readonly Said[];
  /** Parallel tool calls: their fragments alternate instead of following each other. */
  readonly interleaved?: boolean;
  /** The last piece of text is sent again and again until the peer leaves. */
  readonly endless?: boolean;
  /** The request's output limit is not kept. */
  readonly overrun?: boolean;
  /** `missing`: none though asked for; several: as many usage chunks (a JSON reply has the last). */
  readonly usage?: 'missing' | UsageFigures | readonly UsageFigures[];
  /** Chunks to send as they stand in place of those that follow from what is said; id, model and created are put in. */
  readonly chunks?: readonly object[];
  readonly inserts?: readonly Insert[];
  readonly fail?: StreamFailure;
  /** How often `[DONE]` is sent; once unless said. */
  readonly done?: number;
  /** Turns one event's data into a frame, where it is not the usual `data: …` and a blank line. */
  readonly frame?: (data: string) => string;
  /** The form of the reply, where it is not the one that was asked for. */
  readonly shape?: 'json' | 'stream';
  /** Headers to put over the usual ones. */
  readonly headers?: Readonly<Record<string, string>>;
  /** A reply to send as it stands, whatever the request says: a refusal, a page, garbage. */
  readonly reply?: WholeReply;
}

/** One call as a handler sees it. */
export interface VendorCall {
  readonly request: ChatRequest;
  readonly received: ReceivedRequest;
  /** How many calls its script has answered before. */
  readonly turn: number;
}

export type Step = Scenario | ((call: VendorCall) => Scenario | Promise<Scenario>);

interface Script {
  readonly steps: readonly Step[];
  turn: number;
}

/** Comment lines as OpenRouter sends them while a model is not ready. */
export const processing = ': OPENROUTER PROCESSING\n\n';

/** Which model does what: scripts by exact name, or by the end of a name where written `*-cut`. */
export class ScriptBook {
  readonly #scripts = new Map<string, Script>();

  set(pattern: string, steps: readonly Step[]): void {
    this.#scripts.set(pattern, { steps, turn: 0 });
  }

  clear(): void {
    this.#scripts.clear();
  }

  #find(model: string): Script | undefined {
    const exact = this.#scripts.get(model);
    if (exact) return exact;
    const suffixes = [...this.#scripts.keys()].filter((pattern) => pattern.startsWith('*') && model.endsWith(pattern.slice(1)));
    const longest = suffixes.toSorted((one, other) => other.length - one.length)[0];
    return longest === undefined ? undefined : this.#scripts.get(longest);
  }

  has(model: string): boolean {
    return this.#find(model) !== undefined;
  }

  /** The scenario of the next call to a model; a script's last step answers all later calls. */
  async next(request: ChatRequest, received: ReceivedRequest): Promise<Scenario> {
    const script = this.#find(request.model);
    if (!script) return {};
    const turn = script.turn;
    script.turn += 1;
    const step = script.steps[Math.min(turn, script.steps.length - 1)];
    return typeof step === 'function' ? step({ request, received, turn }) : (step ?? {});
  }
}
