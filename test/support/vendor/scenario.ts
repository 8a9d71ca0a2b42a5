/**
 * What a test has a vendor do with a call, in terms that fit every wire. Everything is optional and combines
 * with everything else that makes sense beside it: `{ text: ['Hel', 'lo'], cut: { how: 'rst', events: 2 } }`.
 * An empty scenario leaves the reply to the request, see `improvise.ts`.
 */
import type { Delivery, WholeReply } from './delivery.ts';
import type { Words } from './words.ts';

export interface SaidCall {
  readonly name: string;
  /** Made up unless given. */
  readonly id?: string;
  /**
   * The arguments as JSON text, or the input of a freeform tool; `''` is a call whose stream says nothing at
   * all.
   */
  readonly arguments?: Words;
  /** A custom tool of the responses wire. */
  readonly freeform?: boolean;
}

export interface Citation {
  readonly url: string;
  readonly title: string;
  /** The words of the text that it follows; the whole text by default. */
  readonly text?: string;
}

export interface Picture {
  readonly mimeType: string;
  /** Base64, of the standard alphabet. */
  readonly data: string;
}

/** Samples in base64, piece by piece, and what is said in them. */
export interface Sound {
  readonly data: readonly string[];
  readonly transcript: string;
}

/** What one candidate says. */
export interface Said {
  readonly reasoning?: Words;
  /** The reasoning is only shown sealed: redacted thinking, an encrypted item without a summary. */
  readonly sealed?: boolean;
  readonly text?: Words;
  readonly refusal?: Words;
  readonly toolCalls?: readonly SaidCall[];
  /** A search the vendor itself makes before it answers. */
  readonly search?: string;
  readonly citations?: readonly Citation[];
  readonly pictures?: readonly Picture[];
  /** What it speaks aloud. */
  readonly sound?: Sound;
  /** Code the vendor itself runs before it answers. */
  readonly code?: { readonly language: string; readonly source: string; readonly output: string };
  /** The wire's own finish reason, if not the one that follows from the text. */
  readonly finish?: string;
}

/** Figures to put over the true ones, of any type: a vendor that lies, lies in these. */
export type UsageFigures = Readonly<Record<string, unknown>>;

/** A frame that is no part of the reply proper. */
interface Insert {
  /** Before which event, from 0; `end`: after everything. */
  readonly before: number | 'end';
  readonly frame: string;
}

export interface Scenario extends Said, Delivery {
  /** The text of each candidate, if there are several. */
  readonly candidates?: readonly Said[];
  /** Parallel tool calls: their fragments alternate where the wire allows it. */
  readonly interleaved?: boolean;
  /** The last piece of text is sent again and again until the peer leaves. */
  readonly endless?: boolean;
  /** Before which event a line begins that never ends. */
  readonly endlessLine?: number;
  /** The request's output limit is not kept. */
  readonly overrun?: boolean;
  readonly usage?: 'missing' | UsageFigures;
  /** Tokens of the prompt that came from an automatic cache. */
  readonly cached?: number;
  /** Why the prompt was not answered at all: generate-content's `blockReason`. */
  readonly blocked?: string;
  readonly inserts?: readonly Insert[];
  /**
   * An error inside a stream that had begun well, after so many events; `error` is put over the usual fields.
   */
  readonly fail?: {
    readonly after: number;
    readonly error?: Readonly<Record<string, unknown>>;
    /**
     * How chat-completions says it. `data`: an error object in place of a chunk, then the end, as OpenAI
     * does. `event`: the same named `event: error`, as Groq does. `chunk`: a chunk that holds an error beside
     * its choices, then `[DONE]`, as OpenRouter does.
     */
    readonly as?: 'data' | 'event' | 'chunk';
  };
  /** The form of the reply, if not the requested one. */
  readonly shape?: 'json' | 'stream';
  /** Headers to put over the usual ones. */
  readonly headers?: Readonly<Record<string, string>>;
  /** A reply to send unchanged, whatever the request says: a refusal, a page, garbage. */
  readonly reply?: WholeReply;
}
