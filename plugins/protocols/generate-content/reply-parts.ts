/**
 * Canonical events as parts of a candidate's content, and what is said of the candidate at its end. A stream sends
 * text as it comes, a whole reply a block at a time; what there is to say is decided here for both.
 */
import type { CanonicalEvent, Opaque, ReplyContext } from '../../../core/index.ts';
import { codeResult } from '../../shared/wire-kit/hosted-tools.ts';
import { loseForeign } from '../../shared/wire-kit/losses.ts';
import { argumentsObject } from '../../shared/wire-kit/tool-arguments.ts';
import { longestCited, Transcript } from '../../shared/wire-kit/transcript.ts';
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName } from './bag.ts';
import { encodeFinish } from './finish.ts';
import { encodeGrounding, isCited, type Annotation } from './grounding.ts';
import { encodeLogprobs } from './logprobs.ts';
import { placeholders, writeSignature } from './signature.ts';

type Event<Type extends CanonicalEvent['type']> = Extract<CanonicalEvent, { type: Type }>;

export interface ReplyPartsOptions {
  /** Whether text is told piece by piece. */
  readonly streamed: boolean;
  /** Whether the client does not want to see the model's thoughts. */
  readonly hidesThoughts: boolean;
  readonly lost: ReplyContext['lost'] | undefined;
}

interface Candidate {
  readonly said: Transcript;
  readonly annotations: Annotation[];
  readonly logprobs: unknown[];
  refused: boolean;
  called: boolean;
}

interface OpenBlock {
  readonly start: Event<'block-start'>;
  /** Characters of the answer before this block. */
  readonly from: number;
  /** Citations that do not say their place: they are of the whole block. */
  readonly cited: Annotation[];
  readonly said: Transcript;
}

export class ReplyParts {
  readonly #options: ReplyPartsOptions;
  readonly #candidates = new Map<number, Candidate>();
  readonly #blocks = new Map<number, OpenBlock>();
  /** What is said of each candidate that has finished, beside its content. */
  readonly endings = new Map<number, Fields>();
  /** Set where the prompt was refused: then there are no candidates. */
  promptFeedback: unknown;

  constructor(options: ReplyPartsOptions) {
    this.#options = options;
  }

  /** Passed one event; the answer is the parts it adds to its candidate's content. */
  push(event: CanonicalEvent): Fields[] {
    switch (event.type) {
      case 'block-delta':
        return this.#add(event);
      case 'block-start':
        this.#blocks.set(event.block, {
          start: event,
          from: this.#candidate(event.candidate).said.length,
          cited: [],
          said: new Transcript(),
        });
        if (event.kind === 'refusal') this.#candidate(event.candidate).refused = true;
        return [];
      case 'block-end':
        return this.#end(event);
      case 'annotation':
        this.#cite(event);
        return [];
      case 'logprobs':
        for (const each of event.content) this.#candidate(event.candidate).logprobs.push(each);
        return [];
      case 'finish':
        this.#finish(event);
        return [];
      default:
        return [];
    }
  }

  #candidate(index: number): Candidate {
    const known = this.#candidates.get(index);
    if (known) return known;
    const candidate: Candidate = {
      said: new Transcript(longestCited),
      annotations: [],
      logprobs: [],
      refused: false,
      called: false,
    };
    this.#candidates.set(index, candidate);
    return candidate;
  }

  #cite({ candidate, block: number, annotation }: Event<'annotation'>): void {
    const block = this.#blocks.get(number);
    if (block && annotation.start === undefined) block.cited.push(annotation);
    else this.#candidate(candidate).annotations.push(annotation);
  }

  #add({ candidate, block: number, text, vendor = {} }: Event<'block-delta'>): Fields[] {
    const block = this.#blocks.get(number);
    if (!block) return [];
    const { kind } = block.start;
    if (kind === 'text' || kind === 'refusal') this.#candidate(candidate).said.add(text);
    if (kind === 'audio' && Object.values(vendor).some(({ transcript }) => transcript))
      this.#options.lost?.('audio.transcript', 'generate-content has no place for what its sound says');
    const spoken =
      kind === 'text' || kind === 'refusal' || (kind === 'reasoning' && !this.#options.hidesThoughts);
    if (spoken && this.#options.streamed) return text === '' ? [] : [speech(kind, { text })];
    block.said.add(text);
    return [];
  }

  #end({ block: number, opaque = [] }: Event<'block-end'>): Fields[] {
    const block = this.#blocks.get(number);
    if (!block) return [];
    this.#blocks.delete(number);
    const { start, from, cited } = block;
    const { text } = block.said;
    const { annotations, said: answer } = this.#candidate(start.candidate);
    for (const annotation of cited) annotations.push({ ...annotation, start: from, end: answer.length });
    switch (start.kind) {
      case 'text':
      case 'refusal':
      case 'reasoning':
        return this.#endSpeech(start.kind, text, opaque);
      case 'tool-call':
        return [this.#sealCall(start, callPart(start, text), opaque)];
      case 'image':
      case 'audio':
        return text === ''
          ? []
          : sealed(
              [{ inlineData: { mimeType: start.mediaType ?? defaultTypes[start.kind], data: text } }],
              opaque,
            );
      case 'code':
        return sealed([{ executableCode: { language: 'PYTHON', ...bag.fields(start), code: text } }], opaque);
      case 'server-tool': {
        const { part } = bag.fields(start);
        if (isObject(part)) return [part];
        if (start.name === codeResult)
          return [{ codeExecutionResult: { outcome: 'OUTCOME_OK', output: text } }];
        this.#options.lost?.('server-tool', 'generate-content does not show what another vendor ran itself');
        return [];
      }
    }
  }

  /** Thoughts that are not to be shown leave their seal, unless it is over the text. */
  #endSpeech(kind: string, text: string, opaque: readonly Opaque[]): Fields[] {
    const hidden = kind === 'reasoning' && this.#options.hidesThoughts && text !== '';
    if (hidden && opaque.length > 0)
      this.#options.lost?.('reasoning', 'what seals it goes with the thoughts, which are not to be shown');
    return hidden ? [] : sealed(text === '' ? [] : [{ text }], opaque).map((part) => speech(kind, part));
  }

  /** Gemini wants a seal on the first call of a step, and takes a word in place of one where another model made the call. */
  #sealCall(start: Event<'block-start'>, part: Fields, opaque: readonly Opaque[]): Fields {
    const candidate = this.#candidate(start.candidate);
    const [seal] = opaque.map(writeSignature);
    const first = !candidate.called;
    candidate.called = true;
    const signature = seal ?? (first ? placeholders[0] : undefined);
    return signature === undefined ? part : { ...part, thoughtSignature: signature };
  }

  #finish(event: Event<'finish'>): void {
    const { candidate: index, reason, vendor } = event;
    loseForeign(this.#options, event, protocolName);
    if (reason.unified === 'pause' && encodeFinish(reason) !== reason.raw)
      this.#options.lost?.('finish', 'generate-content has no word for a paused turn but "MAX_TOKENS"');
    const { promptFeedback, ...extras } = bag.fields({ vendor });
    if (promptFeedback !== undefined) {
      this.promptFeedback = promptFeedback;
      return;
    }
    const {
      annotations,
      logprobs,
      refused,
      said: { text },
    } = this.#candidate(index);
    const cited = 'groundingMetadata' in extras || 'citationMetadata' in extras;
    const grounding = cited ? undefined : encodeGrounding(annotations, text);
    if (!cited && !annotations.every(isCited))
      this.#options.lost?.('annotations', 'generate-content cites web pages only');
    if (!cited && annotations.some(({ start = 0 }) => start > text.length))
      this.#options.lost?.('annotations.start', 'the answer was too long to place all its citations in it');
    this.endings.set(index, {
      finishReason: encodeFinish(
        refused && reason.unified === 'stop' ? { unified: 'refusal', raw: '' } : reason,
      ),
      ...extras,
      ...(grounding ? { groundingMetadata: grounding } : {}),
      ...(logprobs.length > 0 ? { logprobsResult: encodeLogprobs(logprobs) } : {}),
    });
  }
}

function speech(kind: string, part: Fields): Fields {
  return kind === 'reasoning' ? { ...part, thought: true } : part;
}

const defaultTypes = { image: 'image/png', audio: 'audio/wav' } as const;

/** The parts, the last of them with the first seal. Where there is no part, and for each further seal, an empty one is added. */
function sealed(parts: readonly Fields[], opaque: readonly Opaque[]): Fields[] {
  const [first, ...others] = opaque.map(writeSignature);
  if (first === undefined) return [...parts];
  const last = parts.at(-1) ?? { text: '' };
  return [
    ...parts.slice(0, -1),
    { ...last, thoughtSignature: first },
    ...others.map((thoughtSignature) => ({ text: '', thoughtSignature })),
  ];
}

function callPart({ id, name = '', custom }: Event<'block-start'>, text: string): Fields {
  const args = custom ? { input: text } : (argumentsObject(text) ?? { _raw: text });
  return { functionCall: { ...(id === undefined ? {} : { id }), name, args } };
}
