/** Blocks of a reply while they grow: what each of them has said so far, and where its item stands. */
import type { CanonicalEvent } from '../../../core/index.ts';
import { Transcript } from '../../shared/wire-kit/transcript.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';
import type { Annotation } from './annotations.ts';
import { makeId } from './response-object.ts';
import type { WireName } from './tool-names.ts';

export interface OutputMessage {
  readonly index: number;
  readonly id: string;
  /** Its parts, which the finished item holds. */
  readonly content: Fields[];
  readonly item: Fields;
  /** What it says that is not over. */
  readonly open: Set<OpenSpeech>;
}

type Start = Extract<CanonicalEvent, { type: 'block-start' }>;

/** Text or a refusal: one part of a message. It is remembered after its end, since annotations may come late. */
export class OpenSpeech {
  readonly kind = 'speech';
  readonly place: Fields;
  readonly refused: boolean;
  readonly logprobs: unknown[] = [];
  readonly said = new Transcript();
  over = false;
  /** Citations that do not say where they stand: they are of all its text, which Anthropic's stream brings behind them. */
  readonly cited: Annotation[] = [];
  readonly #annotations: Fields[] = [];
  readonly #part: Record<string, unknown>;
  /** Log probabilities that wait for the text they belong to. */
  #waiting: unknown[] = [];

  constructor(message: OutputMessage, refused: boolean) {
    this.refused = refused;
    this.place = { item_id: message.id, output_index: message.index, content_index: message.content.length };
    this.#part = refused
      ? { type: 'refusal', refusal: '' }
      : { type: 'output_text', text: '', annotations: this.#annotations, logprobs: this.logprobs };
    message.content.push(this.#part);
  }

  /** Puts what was said so far into the part that the item holds. Not done for each piece: V8 would keep a string made of many strings. */
  settle(): void {
    this.#part[this.refused ? 'refusal' : 'text'] = this.said.text;
  }

  /** The part as it is now. */
  shown(): Fields {
    this.settle();
    return this.refused
      ? { ...this.#part }
      : { ...this.#part, annotations: [...this.#annotations], logprobs: [...this.logprobs] };
  }

  /** The answer is the log probabilities of this text. */
  add(text: string): readonly unknown[] {
    const logprobs = this.#waiting;
    this.#waiting = [];
    this.said.add(text);
    return logprobs;
  }

  weigh(content: readonly unknown[]): void {
    for (const each of content) {
      this.#waiting.push(each);
      this.logprobs.push(each);
    }
  }

  /** The answer is which annotation of the part it is. */
  annotate(annotation: Fields): number {
    return this.#annotations.push(annotation) - 1;
  }
}

interface SummaryPart {
  readonly type: 'summary_text';
  readonly text: string;
}

/** Reasoning: an item once it has said anything, with its text as the parts of a summary. */
export class OpenReasoning {
  readonly kind = 'reasoning';
  readonly summary: SummaryPart[] = [];
  /** The id its vendor gave it on this wire: a seal is bound to it. */
  readonly ownId: string | undefined;
  id = '';
  index = 0;
  #said: Transcript | undefined;

  constructor(ownId: unknown) {
    this.ownId = typeof ownId === 'string' ? ownId : undefined;
  }

  begin(id: string, index: number): void {
    this.id = id;
    this.index = index;
  }

  /** Whether a part is open. */
  get thinking(): boolean {
    return this.#said !== undefined;
  }

  get place(): Fields {
    return { item_id: this.id, output_index: this.index, summary_index: this.summary.length };
  }

  startPart(): SummaryPart {
    this.#said = new Transcript();
    return { type: 'summary_text', text: '' };
  }

  add(text: string): void {
    this.#said?.add(text);
  }

  endPart(): SummaryPart {
    const part: SummaryPart = { type: 'summary_text', text: this.#said?.text ?? '' };
    this.summary.push(part);
    this.#said = undefined;
    return part;
  }
}

/** A call of a tool; it has no place until it is told. */
export class OpenCall {
  readonly kind = 'call';
  readonly start: Start;
  /** The field that holds what it is called with. */
  readonly field: 'arguments' | 'input';
  text = '';
  deltas = 0;
  index: number | undefined;
  #id = '';
  #callId: string | undefined;
  #name: WireName;

  constructor(start: Start) {
    this.start = start;
    this.field = start.custom ? 'input' : 'arguments';
    this.#name = { name: start.name ?? '' };
  }

  begin(index: number, reply: string, name: WireName | undefined): void {
    this.index = index;
    this.#id = makeId(this.start.custom ? 'ctc' : 'fc', reply, index);
    this.callId(reply, index);
    this.#name = name ?? this.#name;
  }

  /** The call's own id; one made of its place where the vendor gave none. */
  callId(reply: string, index: number): string {
    return (this.#callId ??= this.start.id || makeId('call', reply, index));
  }

  get place(): Fields {
    return { item_id: this.#id, output_index: this.index };
  }

  /** What it was called with; older SDKs look for the function's name there. */
  get whole(): Fields {
    return {
      ...this.place,
      ...(this.start.custom ? {} : { name: this.#name.name }),
      [this.field]: this.text,
    };
  }

  event(what: 'delta' | 'done'): string {
    return `response.${this.start.custom ? 'custom_tool_call_input' : 'function_call_arguments'}.${what}`;
  }

  shown(status: string, text: string): Fields {
    const { name, namespace } = this.#name;
    const type = this.start.custom ? 'custom_tool_call' : 'function_call';
    return {
      id: this.#id,
      type,
      status,
      call_id: this.#callId,
      name,
      ...(namespace === undefined ? {} : { namespace }),
      [this.field]: text,
    };
  }
}

/** Something the vendor ran itself. */
export interface OpenHosted {
  readonly kind: 'hosted';
  readonly start: Start;
  text: string;
}

export type OpenBlock = OpenSpeech | OpenReasoning | OpenCall | OpenHosted;
