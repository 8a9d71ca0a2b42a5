/**
 * Canonical events as the output items of a response, with the events of the wire that tell of their growth. A
 * message goes on over several blocks of text and ends where something else begins; every other block is an item.
 */
import type { CanonicalEvent, Opaque, ReplyContext } from '../../../core/index.ts';
import { codeResult } from '../../shared/wire-kit/hosted-tools.ts';
import { loseForeign } from '../../shared/wire-kit/losses.ts';
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { encodeAnnotation } from './annotations.ts';
import { bag, protocolName } from './bag.ts';
import { encodeFinish, type Ending } from './finish.ts';
import { encodeHostedItem, planProgress } from './hosted-items.ts';
import { OpenCall, OpenReasoning, OpenSpeech, type OpenBlock, type OutputMessage } from './open-blocks.ts';
import { makeId } from './response-object.ts';
import { writeSealed, type Owner } from './sealed.ts';
import { ToolNames } from './tool-names.ts';

/** One event of the wire, but for its number. */
export interface ItemEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

type Event<Type extends CanonicalEvent['type']> = Extract<CanonicalEvent, { type: Type }>;

/** Where the item of a picture stands, as its events say it. */
type PicturePlace = { readonly item_id: unknown; readonly output_index: number };

const picture = { type: 'image_generation_call', event: 'response.image_generation_call' } as const;

export class OutputItemEncoder {
  readonly #output: Fields[] = [];
  readonly #context: ReplyContext;
  readonly #blocks = new Map<number, OpenBlock>();
  /** The calls among them that are held back, apart: a reply may have thousands. */
  readonly #held = new Map<number, OpenCall>();
  #names: ToolNames | undefined;
  #message: OutputMessage | undefined;
  #code:
    | { readonly start: Event<'block-start'>; readonly text: string; readonly opaque: readonly Opaque[] }
    | undefined;
  #told: ItemEvent[] = [];
  /** The latest call, all of which was heard: whether it was cut short, the next event tells. */
  #heard: OpenCall | undefined;
  /** The picture that is being painted, once any of it was shown. */
  #picture: PicturePlace | undefined;
  #calls = false;
  #refusal = false;
  #reason: Event<'finish'>['reason'] = { unified: 'stop', raw: 'completed' };

  constructor(context: ReplyContext) {
    this.#context = context;
  }

  /** The items so far, each as it is now. */
  get output(): readonly Fields[] {
    for (const block of this.#blocks.values()) if (block.kind === 'speech') block.settle();
    return this.#output;
  }

  /** How the response ends, by what was heard of it. */
  get ending(): Ending {
    return encodeFinish(this.#reason, { calls: this.#calls, refusal: this.#refusal });
  }

  /** Passed one event of the one candidate this wire has; the answer is what the client is told. */
  push(event: CanonicalEvent): ItemEvent[] {
    this.#told = [];
    if ('candidate' in event && event.candidate > 0) {
      this.#context.lost?.(`candidates[${event.candidate}]`, 'responses has one answer to a call');
      return this.#told;
    }
    if (event.type !== 'finish') this.#tellHeard('completed');
    if (event.type === 'block-delta') this.#grow(event);
    else if (event.type === 'block-start') this.#start(event);
    else if (event.type === 'block-end') this.#end(event);
    else if (event.type === 'annotation') this.#annotate(event);
    else if (event.type === 'logprobs') this.#weigh(event);
    else if (event.type === 'partial-image') this.#paint(event);
    else if (event.type === 'finish') this.#finish(event);
    return this.#told;
  }

  /** The reply is over: what is still open is ended, in its order. */
  close(): ItemEvent[] {
    this.#told = [];
    for (const block of this.#blocks.keys()) this.#end({ type: 'block-end', candidate: 0, block });
    this.#tellCode();
    if (this.#picture)
      this.#endPicture(this.#picture, { type: picture.type, status: 'failed', result: null });
    this.#tellHeard(this.#lastStatus);
    this.#endMessage(this.#lastStatus);
    return this.#told;
  }

  /** What the item is that was at work when the reply ended. */
  get #lastStatus(): 'incomplete' | 'completed' {
    return this.ending.status === 'completed' ? 'completed' : 'incomplete';
  }

  #tell(type: string, fields: Fields): void {
    this.#told.push({ type, ...fields });
  }

  /** Begins an item; the answer is where it stands. */
  #add(item: Fields, shown: Fields): number {
    const index = this.#output.length;
    this.#output.push(item);
    this.#tell('response.output_item.added', { output_index: index, item: shown });
    return index;
  }

  #done(index: number, item: Fields): void {
    this.#output[index] = item;
    this.#tell('response.output_item.done', { output_index: index, item });
  }

  #id(prefix: string): string {
    return makeId(prefix, this.#context.id, this.#output.length);
  }

  #start(start: Event<'block-start'>): void {
    const { kind, block } = start;
    if (start.name !== codeResult) this.#tellCode();
    if (kind === 'text' || kind === 'refusal') {
      this.#blocks.set(block, this.#startSpeech(start));
    } else if (kind === 'reasoning') {
      this.#blocks.set(block, new OpenReasoning(bag.fields(start).id));
    } else if (kind === 'tool-call') {
      this.#calls = true;
      const call = new OpenCall(start);
      this.#blocks.set(block, call);
      this.#held.set(block, call);
    } else {
      this.#blocks.set(block, { kind: 'hosted', start, text: '' });
    }
  }

  #startSpeech(start: Event<'block-start'>): OpenSpeech {
    const { item: head } = bag.fields(start);
    if (head !== undefined || this.#held.size > 0) this.#makeRoom();
    this.#message ??= this.#startMessage(isObject(head) ? head : {});
    if (start.kind === 'refusal') this.#refusal = true;
    const speech = new OpenSpeech(this.#message, start.kind === 'refusal');
    this.#message.open.add(speech);
    this.#tell('response.content_part.added', { ...speech.place, part: speech.shown() });
    return speech;
  }

  #startMessage(head: Fields): OutputMessage {
    const item = { ...head, id: this.#id('msg'), type: 'message', status: 'in_progress', role: 'assistant' };
    const content: Fields[] = [];
    const index = this.#add({ ...item, content }, { ...item, content: [] });
    return { index, id: item.id, content, item, open: new Set() };
  }

  #endMessage(status: string): void {
    const message = this.#message;
    if (!message) return;
    for (const speech of message.open) this.#endSpeech(speech, []);
    this.#message = undefined;
    this.#done(message.index, { ...message.item, status, content: message.content });
  }

  #grow({ block: number, text, vendor }: Event<'block-delta'>): void {
    const block = this.#blocks.get(number);
    if (!block) return;
    switch (block.kind) {
      case 'speech':
        return this.#speak(block, number, text);
      case 'reasoning':
        return this.#think(block, text, bag.fields({ vendor }).break === true);
      case 'call':
        block.text += text;
        block.deltas += 1;
        if (block.index !== undefined)
          return this.#tell(block.event('delta'), { ...block.place, delta: text });
        // A call that comes in one piece is told at its end: sealed state that belongs to it is known only then.
        if (block.deltas > 1) this.#tellCall(block);
        return;
      case 'hosted':
        block.text += text;
    }
  }

  #speak(block: OpenSpeech, number: number, text: string): void {
    let speech = block;
    if (block.over) {
      // Its message ended where another item began, and it goes on in a new one.
      speech = this.#startSpeech({
        type: 'block-start',
        candidate: 0,
        block: number,
        kind: block.refused ? 'refusal' : 'text',
      });
      this.#blocks.set(number, speech);
    }
    const logprobs = speech.add(text);
    if (speech.refused) this.#tell('response.refusal.delta', { ...speech.place, delta: text });
    else this.#tell('response.output_text.delta', { ...speech.place, delta: text, logprobs });
  }

  #think(block: OpenReasoning, text: string, breaks: boolean): void {
    this.#startReasoning(block);
    if (breaks) return this.#endThought(block);
    if (!block.thinking)
      this.#tell('response.reasoning_summary_part.added', { ...block.place, part: block.startPart() });
    block.add(text);
    this.#tell('response.reasoning_summary_text.delta', { ...block.place, delta: text });
  }

  #startReasoning(block: OpenReasoning): void {
    if (block.id !== '') return;
    this.#makeRoom();
    const id = block.ownId ?? this.#id('rs');
    const item = { id, type: 'reasoning', summary: [] };
    block.begin(id, this.#add(item, item));
  }

  #endThought(block: OpenReasoning): void {
    if (!block.thinking) return;
    const { place } = block;
    const part = block.endPart();
    this.#tell('response.reasoning_summary_text.done', { ...place, text: part.text });
    this.#tell('response.reasoning_summary_part.done', { ...place, part });
  }

  /** Another item is to begin: calls that were held back come first (those before a block, where one is given), and the message is over. */
  #makeRoom(before = Number.POSITIVE_INFINITY): void {
    for (const [number, call] of this.#held) {
      // They are numbered as they began.
      if (number >= before) break;
      this.#tellCall(call);
    }
    this.#endMessage('completed');
  }

  #tellCall(call: OpenCall): void {
    this.#makeRoom(call.start.block);
    this.#held.delete(call.start.block);
    this.#names ??= new ToolNames(this.#context.call.decode());
    call.begin(this.#output.length, this.#context.id, this.#names.toWire(call.start.name ?? ''));
    this.#add(call.shown('in_progress', ''), call.shown('in_progress', ''));
    if (call.text !== '') this.#tell(call.event('delta'), { ...call.place, delta: call.text });
  }

  #end({ block: number, opaque = [] }: Event<'block-end'>): void {
    const block = this.#blocks.get(number);
    if (!block || (block.kind === 'speech' && block.over)) return;
    if (block.kind !== 'speech') this.#blocks.delete(number);
    this.#held.delete(number);
    switch (block.kind) {
      case 'speech':
        return this.#endSpeech(block, opaque);
      case 'reasoning':
        return this.#endReasoning(block, opaque);
      case 'call':
        return this.#endCall(block, opaque);
      case 'hosted':
        return this.#hold(block.start, block.text, opaque);
    }
  }

  #endSpeech(speech: OpenSpeech, opaque: readonly Opaque[]): void {
    speech.over = true;
    this.#message?.open.delete(speech);
    for (const annotation of speech.cited) this.#cite(speech, annotation);
    const {
      refused,
      logprobs,
      said: { text },
    } = speech;
    if (refused) this.#tell('response.refusal.done', { ...speech.place, refusal: text });
    else this.#tell('response.output_text.done', { ...speech.place, text, logprobs });
    this.#tell('response.content_part.done', { ...speech.place, part: speech.shown() });
    this.#sealApart(opaque, 'block');
  }

  #endReasoning(block: OpenReasoning, [sealed, ...others]: readonly Opaque[]): void {
    if (sealed) this.#startReasoning(block);
    if (block.id === '') return;
    this.#endThought(block);
    this.#done(block.index, {
      id: block.id,
      type: 'reasoning',
      summary: block.summary,
      ...(sealed ? { encrypted_content: writeSealed(sealed, undefined) } : {}),
    });
    this.#sealApart(others, undefined);
  }

  #endCall(call: OpenCall, opaque: readonly Opaque[]): void {
    const owner = { call: call.callId(this.#context.id, this.#output.length) };
    const late = call.index !== undefined;
    if (!late) {
      this.#sealApart(opaque, owner, call.start.block);
      this.#tellCall(call);
    }
    this.#tellHeard('completed');
    this.#tell(call.event('done'), call.whole);
    this.#heard = call;
    if (!late || opaque.length === 0) return;
    this.#tellHeard('completed');
    this.#sealApart(opaque, owner);
  }

  /** A call that was cut must not be taken for one to run: agents run each as soon as it is done. */
  #tellHeard(status: 'incomplete' | 'completed'): void {
    const call = this.#heard;
    this.#heard = undefined;
    if (call?.index !== undefined) this.#done(call.index, call.shown(status, call.text));
  }

  /** Sealed state in items of its own. */
  #sealApart(opaque: readonly Opaque[], owner: Owner, before?: number): void {
    for (const sealed of opaque) {
      this.#makeRoom(before);
      const item = { id: this.#id('rs'), type: 'reasoning', summary: [] };
      this.#done(this.#add(item, item), { ...item, encrypted_content: writeSealed(sealed, owner) });
    }
  }

  /** Another wire's code waits for what it wrote, which stands in the same item here. */
  #hold(start: Event<'block-start'>, text: string, opaque: readonly Opaque[]): void {
    const { item, told } = bag.fields(start);
    if (start.kind === 'code' && item === undefined) this.#code = { start, text, opaque };
    else if (start.name === codeResult && this.#code) this.#tellCode(text);
    else if (told !== true) this.#endHosted(start, text, opaque);
  }

  #tellCode(logs?: string): void {
    const code = this.#code;
    this.#code = undefined;
    if (code) this.#endHosted(code.start, code.text, code.opaque, logs);
  }

  /** What the vendor ran itself is told whole, at its end. */
  #endHosted(start: Event<'block-start'>, text: string, opaque: readonly Opaque[], logs?: string): void {
    const item = encodeHostedItem(start, text, (prefix) => this.#id(prefix), logs);
    if (!item) return this.#context.lost?.(start.kind, 'responses has no item for it');
    if (start.kind === 'image' && this.#picture) this.#endPicture(this.#picture, item);
    else this.#tellWhole(item);
    this.#sealApart(opaque, 'block');
  }

  #tellWhole(item: Fields): void {
    this.#makeRoom();
    const { begun, before, after } = planProgress(item);
    const place = { output_index: this.#add(item, begun), item_id: item.id };
    for (const { type, ...fields } of before) this.#tell(type, { ...place, ...fields });
    for (const { type } of after) this.#tell(type, place);
    this.#done(place.output_index, item);
  }

  /** A picture in the making, whose item begins with the first that is shown of it. */
  #paint({ index, data, vendor }: Event<'partial-image'>): void {
    const facts = bag.fields({ vendor });
    this.#picture ??= this.#startPicture(facts.item_id);
    this.#tell(`${picture.event}.partial_image`, {
      ...facts,
      ...this.#picture,
      partial_image_index: index,
      partial_image_b64: data,
    });
  }

  #startPicture(id: unknown = this.#id('ig')): PicturePlace {
    this.#makeRoom();
    const item = { id, type: picture.type, status: 'in_progress', result: null };
    const place = { item_id: id, output_index: this.#add(item, item) };
    for (const step of ['in_progress', 'generating']) this.#tell(`${picture.event}.${step}`, place);
    return place;
  }

  #endPicture(place: PicturePlace, item: Fields): void {
    this.#picture = undefined;
    if (item.status === 'completed') this.#tell(`${picture.event}.completed`, place);
    this.#done(place.output_index, { ...item, id: place.item_id });
  }

  #finish(event: Event<'finish'>): void {
    this.#reason = event.reason;
    if (event.reason.unified === 'pause')
      this.#context.lost?.('finish', 'responses has no word for a paused turn but "incomplete"');
    this.#tellHeard(this.#lastStatus);
    loseForeign(this.#context, event, protocolName);
  }

  #annotate({ block: number, annotation }: Event<'annotation'>): void {
    const block = this.#blocks.get(number);
    if (block?.kind !== 'speech' || block.refused) return;
    if (annotation.start === undefined && !block.over) block.cited.push(annotation);
    else this.#cite(block, annotation);
  }

  #cite(block: OpenSpeech, annotation: Event<'annotation'>['annotation']): void {
    const wire = encodeAnnotation(annotation, block.said.length);
    if (!wire) this.#context.lost?.(`annotations.${annotation.kind}`, 'responses cites web pages only');
    else
      this.#tell('response.output_text.annotation.added', {
        ...block.place,
        annotation_index: block.annotate(wire),
        annotation: wire,
      });
  }

  #weigh({ block: number, content }: Event<'logprobs'>): void {
    const block = this.#blocks.get(number);
    if (block?.kind === 'speech') block.weigh(content);
  }
}
