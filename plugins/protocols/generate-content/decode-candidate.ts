/**
 * Decodes one candidate of a reply. Each chunk holds only new parts; a block ends when a part of another kind
 * begins.
 */
import type { BlockKind, Opaque } from '../../../core/index.ts';
import { codeResult } from '../../shared/wire-kit/hosted-tools.ts';
import type { FindTool } from '../../shared/wire-kit/offered-tools.ts';
import type { BlockFacts, ReplyLog } from '../../shared/wire-kit/reply-log.ts';
import { longestCited, Transcript } from '../../shared/wire-kit/transcript.ts';
import { readMember, readObjects, readText } from '../../shared/wire-kit/values.ts';
import { isObject, pickUnread, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag } from './bag.ts';
import { decodeFinish } from './finish.ts';
import { FunctionCalls } from './function-calls.ts';
import { decodeCitations, decodeGrounding, mostParts, type Answer } from './grounding.ts';
import { decodeLogprobs } from './logprobs.ts';
import { readSignature } from './signature.ts';

export interface ReplyState {
  readonly log: ReplyLog;
  /** Identifies this reply, for call ids that have to be generated. */
  readonly makeKey: () => string;
  /** Finds the client's tool if the gateway sent it under another name or in another form. */
  readonly findTool: FindTool;
}

interface OpenBlock {
  readonly block: number;
  readonly kind: BlockKind;
  readonly mediaType: string | undefined;
  readonly opaque: Opaque[];
  readonly samples: Samples;
}

const signatureFields = new Set(['thoughtSignature', 'thought']);

function isEmpty(value: unknown): boolean {
  return value === null || (isObject(value) && Object.keys(value).length === 0);
}

export class CandidateDecoder {
  reason: string | undefined;
  finished = false;
  /** Whether output followed the reason. Older models send a reason in every chunk. */
  #continued = false;
  readonly #index: number;
  readonly #state: ReplyState;
  readonly #calls: FunctionCalls;
  readonly #answer: Answer = { transcript: new Transcript(longestCited), starts: [] };
  /** The candidate's other fields. A map, since a field may be called `__proto__`. */
  readonly #extras = new Map<string, unknown>();
  #open: OpenBlock | undefined;
  /** The latest text block. Annotations belong to it. */
  #textBlock: number | undefined;

  constructor(index: number, state: ReplyState) {
    this.#index = index;
    this.#state = state;
    this.#calls = new FunctionCalls(index, state);
  }

  /** Whether the candidate is complete if nothing follows. */
  get mayEnd(): boolean {
    return this.reason !== undefined && !this.#continued;
  }

  /** Reads one chunk's candidate. Returns whether it has a finish reason. */
  read(wire: Fields): boolean {
    const { content, finishReason: reason, logprobsResult: logprobs } = wire;
    const parts = readObjects(readMember(content, 'parts'));
    if (isObject(logprobs)) this.#readLogprobs(logprobs);
    for (const part of parts) this.#readPart(part);
    this.#continued ||= this.reason !== undefined && parts.some(({ text }) => text !== '');
    const rest = pickUnread(wire, ['content', 'index', 'finishReason', 'logprobsResult']);
    for (const [name, value] of Object.entries(rest)) if (!isEmpty(value)) this.#extras.set(name, value);
    if (typeof reason !== 'string' || reason === '' || reason === 'FINISH_REASON_UNSPECIFIED') return false;
    this.reason = reason;
    return true;
  }

  finish(): void {
    const { reason: raw } = this;
    if (raw === undefined || this.finished) return;
    this.finished = true;
    this.#calls.end();
    this.#emitAnnotations();
    this.#closeBlock();
    this.#state.log.emit({
      type: 'finish',
      candidate: this.#index,
      reason: { unified: decodeFinish(raw, this.#calls.seen), raw },
      ...bag.keep(Object.fromEntries(this.#extras)),
    });
  }

  /** Ends the candidate at the end of the reply. Without a finish reason a call may lack arguments. */
  end(): void {
    this.finish();
    this.#closeBlock();
  }

  #readPart(part: Fields): void {
    const { text, functionCall: call, inlineData: blob, executableCode: code, thought } = part;
    const { transcript, starts } = this.#answer;
    if (starts.length < mostParts) starts.push(transcript.length);
    const signature = readSignature(part.thoughtSignature);
    const opaque = signature ? [signature] : [];
    if (isObject(call)) {
      this.#closeBlock();
      return this.#calls.read(call, opaque);
    }
    this.#calls.end();
    const isBareSignature = opaque.length > 0 && Object.keys(part).every((name) => signatureFields.has(name));
    if (typeof text === 'string' || isBareSignature)
      return this.#addText(thought === true ? 'reasoning' : 'text', readText(text), opaque);
    if (isObject(blob) && thought !== true && this.#addMedia(blob, opaque)) return;
    if (isObject(code) && typeof code.code === 'string')
      return this.#addWhole('code', bag.keep(pickUnread(code, ['code'])), code.code, opaque);
    const result = part.codeExecutionResult;
    if (isObject(result))
      return this.#addWhole(
        'server-tool',
        { name: codeResult, ...bag.keep({ part }) },
        String(result.output ?? ''),
      );
    // Only this protocol has other kinds of parts. A picture among the thoughts is kept like them.
    if (Object.keys(part).length > 0) this.#addWhole('server-tool', bag.keep({ part }), '');
  }

  #addText(kind: 'text' | 'reasoning', text: string, opaque: readonly Opaque[]): void {
    if (text === '' && opaque.length === 0) return;
    // Each signature seals a separate thought.
    const isNextThought = kind === 'reasoning' && opaque.length > 0 && (this.#open?.opaque.length ?? 0) > 0;
    const open = this.#open?.kind === kind && !isNextThought ? this.#open : this.#openBlock(kind);
    if (kind === 'text') this.#answer.transcript.add(text);
    this.#emitDelta(open, text, opaque);
  }

  #addWhole(kind: BlockKind, facts: BlockFacts, text: string, opaque: readonly Opaque[] = []): void {
    this.#emitDelta(this.#openBlock(kind, facts), text, opaque);
    this.#closeBlock();
  }

  /** Returns false if the data is neither an image nor audio. Joins pieces of raw audio. */
  #addMedia({ mimeType, data }: Fields, opaque: readonly Opaque[]): boolean {
    if (typeof mimeType !== 'string' || typeof data !== 'string') return false;
    const kind = (['image', 'audio'] as const).find((each) => mimeType.startsWith(`${each}/`));
    if (!kind) return false;
    if (kind === 'image' || !isSamples(mimeType)) {
      this.#addWhole(kind, { mediaType: mimeType }, data, opaque);
      return true;
    }
    const isSame = this.#open?.kind === 'audio' && this.#open.mediaType === mimeType;
    const open = this.#open && isSame ? this.#open : this.#openBlock(kind, { mediaType: mimeType });
    this.#emitDelta(open, open.samples.add(data), opaque);
    return true;
  }

  #openBlock(kind: BlockKind, facts: BlockFacts = {}): OpenBlock {
    this.#closeBlock();
    const block = this.#state.log.startBlock(this.#index, kind, facts);
    const open = { block, kind, mediaType: facts.mediaType, opaque: [], samples: new Samples() };
    this.#open = open;
    if (kind === 'text') this.#textBlock = block;
    return open;
  }

  #emitDelta({ block, opaque: kept }: OpenBlock, text: string, opaque: readonly Opaque[] = []): void {
    this.#state.log.addText(this.#index, block, text);
    for (const state of opaque) kept.push(state);
  }

  #closeBlock(): void {
    const open = this.#open;
    if (!open) return;
    this.#open = undefined;
    this.#emitDelta(open, open.samples.end());
    this.#state.log.endBlock(this.#index, open.block, open.opaque);
  }

  #readLogprobs(result: Fields): void {
    const content = decodeLogprobs(result);
    if (content.length === 0) return;
    const { block } = this.#open?.kind === 'text' ? this.#open : this.#openBlock('text');
    this.#state.log.emit({ type: 'logprobs', candidate: this.#index, block, content });
  }

  #emitAnnotations(): void {
    const grounding = this.#extras.get('groundingMetadata');
    const citations = this.#extras.get('citationMetadata');
    const annotations = [
      ...(isObject(grounding) ? decodeGrounding(grounding, this.#answer) : []),
      ...(isObject(citations) ? decodeCitations(citations, this.#answer) : []),
    ];
    for (const annotation of annotations) {
      const block = this.#textBlock ?? this.#openBlock('text').block;
      this.#state.log.emit({ type: 'annotation', candidate: this.#index, block, annotation });
    }
  }
}

/** Whether audio is raw samples. Their pieces can be joined; files with a header cannot. */
function isSamples(mediaType: string): boolean {
  return /^audio\/(l16|pcm)\b/i.test(mediaType);
}

class Samples {
  #rest = Buffer.alloc(0);

  /** Adds a piece of base64. Returns base64 of its bytes in whole groups of three, and keeps the rest. */
  add(data: string): string {
    const bytes = Buffer.concat([this.#rest, Buffer.from(data, 'base64')]);
    const whole = bytes.length - (bytes.length % 3);
    this.#rest = bytes.subarray(whole);
    return bytes.toString('base64', 0, whole);
  }

  end(): string {
    const rest = this.#rest.toString('base64');
    this.#rest = Buffer.alloc(0);
    return rest;
  }
}
