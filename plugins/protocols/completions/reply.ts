/**
 * A reply in both directions: choices of text, and their log probabilities in lists side by side. Mistral
 * answers its wire to fill in the middle in the form of a chat.
 */
import {
  GatewayError,
  toCount,
  type CanonicalEvent,
  type ClientCall,
  type EventDecoder,
  type EventEncoder,
  type ReplyContext,
  type Usage,
  type WireEvent,
} from '../../../core/index.ts';
import { buildErrorEvent, encodeStreamError } from '../../shared/openai/errors.ts';
import { isError, readVendorError } from '../../shared/vendors/errors.ts';
import { readFinish, readWord } from '../../shared/vendors/finish-reason.ts';
import { parseJson, unreadableEvent } from '../../shared/wire-kit/event-data.ts';
import { ReplyLog } from '../../shared/wire-kit/reply-log.ts';
import { keepKnown, readList, readObject, readObjects, readText } from '../../shared/wire-kit/values.ts';
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';

export const terminator = 'data: [DONE]\n\n';

function decodeUsage(wire: Fields): Usage | undefined {
  return keepKnown({
    input: toCount(wire.prompt_tokens),
    cacheRead:
      toCount(readObject(wire.prompt_tokens_details).cached_tokens) ?? toCount(wire.prompt_cache_hit_tokens),
    output: toCount(wire.completion_tokens),
  });
}

/** Log probabilities as chats have them, one for each token. */
function decodeLogprobs(wire: Fields): Fields[] {
  const [tops, chances] = [readList(wire.top_logprobs), readList(wire.token_logprobs)];
  return readList(wire.tokens).map((token, index) => ({
    token,
    logprob: chances[index] ?? null,
    top_logprobs: Object.entries(readObject(tops[index])).map(([other, logprob]) => ({
      token: other,
      logprob,
    })),
  }));
}

export class ReplyDecoder implements EventDecoder {
  readonly #call: ClientCall;
  readonly #log = new ReplyLog();
  /** The block of each choice. */
  readonly #blocks = new Map<number, number>();
  readonly #finished = new Set<number>();
  #isStarted = false;

  constructor(call: ClientCall) {
    this.#call = call;
  }

  push(wire: WireEvent): CanonicalEvent[] {
    if (this.#log.isOver) return [];
    const chunk = parseJson(wire.data);
    if (wire.data === '[DONE]') this.#end();
    else if (isObject(chunk)) this.#read(chunk);
    else if (isError(chunk) || !this.#log.skip(wire)) this.#fail({ error: unreadableEvent });
    return this.#log.take();
  }

  end(): CanonicalEvent[] {
    if (!this.#log.isOver) this.#end();
    return this.#log.take();
  }

  /** Reads a completion that is not streamed. Throws if the body is not one. */
  decodeWhole(body: unknown): CanonicalEvent[] {
    if (!isObject(body) || (!Array.isArray(body.choices) && !isError(body)))
      throw new GatewayError('upstream_failed', 'The provider sent a reply that is not a completion.');
    this.#read(body);
    for (const index of this.#blocks.keys()) this.#finish(index, 'stop');
    if (!this.#log.isOver) this.#end();
    return this.#log.take();
  }

  #read(chunk: Fields): void {
    if (isError(chunk)) return this.#fail(chunk);
    if (!this.#isStarted) this.#log.begin(chunk.id, chunk.model, toCount(chunk.created), {});
    this.#isStarted = true;
    for (const [position, choice] of readObjects(chunk.choices).entries())
      this.#readChoice(choice, toCount(choice.index) ?? position);
    const usage = decodeUsage(readObject(chunk.usage));
    if (usage) this.#log.emit({ type: 'usage', usage });
  }

  #readChoice({ text, message, delta, logprobs, finish_reason: reason }: Fields, index: number): void {
    const said = readText(text ?? readObject(message ?? delta).content);
    const block = this.#blocks.get(index) ?? this.#log.startBlock(index, 'text');
    this.#blocks.set(index, block);
    if (isObject(logprobs)) this.#log.addLogprobs(index, block, decodeLogprobs(logprobs));
    this.#log.addText(index, block, said);
    const word = readWord(reason);
    if (word !== undefined) this.#finish(index, word);
  }

  #finish(candidate: number, raw: string): void {
    if (this.#finished.has(candidate)) return;
    const unified = readFinish(raw);
    if (unified === 'error') return this.#fail({ error: `it ended with "${raw}".` });
    this.#finished.add(candidate);
    this.#log.endBlock(candidate, this.#blocks.get(candidate) ?? 0);
    this.#log.emit({ type: 'finish', candidate, reason: { unified, raw } });
  }

  #fail(body: unknown): void {
    this.#log.fail(buildErrorEvent(readVendorError(body)));
  }

  /** Without the last word of each choice the reply was cut. */
  #end(): void {
    const { size } = this.#blocks;
    const wanted = this.#call.stream ? this.#call.candidates : 1;
    this.#log.end(size > 0 && this.#finished.size === size && size >= wanted);
  }
}

/** OpenAI's words for the end of a completion. */
function encodeFinish(unified: string): string {
  if (unified === 'length' || unified === 'context-length') return 'length';
  return unified === 'content-filter' || unified === 'refusal' ? 'content_filter' : 'stop';
}

/** Log probabilities in lists side by side; `offset` is where the first token begins in the text. */
function encodeLogprobs(content: readonly unknown[], offset: number): Fields {
  const entries = content.map(readObject);
  let at = offset;
  return {
    tokens: entries.map(({ token }) => token),
    token_logprobs: entries.map(({ logprob }) => logprob),
    top_logprobs: entries.map(({ top_logprobs: tops }) =>
      Object.fromEntries(readObjects(tops).map(({ token, logprob }) => [readText(token), logprob])),
    ),
    text_offset: entries.map(({ token }) => {
      const begin = at;
      at += readText(token).length;
      return begin;
    }),
  };
}

function encodeUsage({ input, output, cacheRead }: Usage): Fields {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input === undefined || output === undefined ? undefined : input + output,
    ...(cacheRead ? { prompt_tokens_details: { cached_tokens: cacheRead } } : {}),
  };
}

/** What an event adds to a choice. */
interface Addition {
  readonly index: number;
  readonly text: string;
  readonly logprobs: readonly unknown[];
  readonly finish: string | null;
}

/** Reads what events say of choices. What is no text is reported as lost. */
class ChoiceReader {
  usage: Usage = {};
  readonly #context: ReplyContext;
  readonly #texts = new Set<number>();

  constructor(context: ReplyContext) {
    this.#context = context;
  }

  read(event: CanonicalEvent): Addition | undefined {
    const nothing = { text: '', logprobs: [], finish: null };
    if (event.type === 'usage') this.usage = { ...this.usage, ...event.usage };
    else if (event.type === 'block-start' && event.kind === 'text') this.#texts.add(event.block);
    else if (event.type === 'block-start') this.#context.reportLoss?.(event.kind, 'completions are texts');
    else if (event.type === 'block-delta' && this.#texts.has(event.block))
      return { ...nothing, index: event.candidate, text: event.text };
    else if (event.type === 'logprobs' && this.#context.call.decode().logprobs)
      return { ...nothing, index: event.candidate, logprobs: event.content };
    else if (event.type === 'finish')
      return { ...nothing, index: event.candidate, finish: encodeFinish(event.reason.unified) };
    return undefined;
  }
}

/** `offset`: where the text begins in the whole text of the choice. */
function encodeChoice({ index, text, logprobs, finish }: Addition, offset = 0): Fields {
  const chances = logprobs.length > 0 ? encodeLogprobs(logprobs, offset) : null;
  return { text, index, logprobs: chances, finish_reason: finish };
}

function buildHead({ id, created, model }: ReplyContext): Fields {
  return { id: `cmpl-${id}`, object: 'text_completion', created, model };
}

export function encodeReply(events: readonly CanonicalEvent[], context: ReplyContext): unknown {
  const reader = new ChoiceReader(context);
  const added = events.flatMap((event) => reader.read(event) ?? []);
  const choices = [...Map.groupBy(added, ({ index }) => index)].map(([index, parts]) => ({
    index,
    text: parts.map(({ text }) => text).join(''),
    logprobs: parts.flatMap(({ logprobs }) => logprobs),
    finish: parts.findLast(({ finish }) => finish)?.finish ?? null,
  }));
  return {
    ...buildHead(context),
    choices: choices.toSorted((one, other) => one.index - other.index).map((choice) => encodeChoice(choice)),
    usage: encodeUsage(reader.usage),
  };
}

export class ChunkEncoder implements EventEncoder {
  readonly #context: ReplyContext;
  readonly #reader: ChoiceReader;
  /** The length of each choice's text so far. */
  readonly #lengths = new Map<number, number>();

  constructor(context: ReplyContext) {
    this.#context = context;
    this.#reader = new ChoiceReader(context);
  }

  push(event: CanonicalEvent): string {
    if (event.type === 'error') return encodeStreamError(new GatewayError('upstream_failed', event.message));
    if (event.type === 'response-end') {
      const isWanted = this.#context.call.usageWanted;
      return (isWanted ? this.#write([], { usage: encodeUsage(this.#reader.usage) }) : '') + terminator;
    }
    const added = this.#reader.read(event);
    if (!added) return '';
    const offset = this.#lengths.get(added.index) ?? 0;
    this.#lengths.set(added.index, offset + added.text.length);
    return this.#write([encodeChoice(added, offset)]);
  }

  #write(choices: readonly Fields[], more?: Fields): string {
    return `data: ${JSON.stringify({ ...buildHead(this.#context), choices, ...more })}\n\n`;
  }
}
