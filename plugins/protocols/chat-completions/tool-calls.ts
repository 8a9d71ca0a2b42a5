/**
 * The tool calls of one candidate, put together from their fragments. The index tells them apart where vendors
 * keep to it; some send every call as index 0 with an id of its own, some without any id, and Google's chat layer
 * with empty ids. All calls stay open until the candidate ends, since fragments may still come for any of them.
 */
import type { CanonicalEvent, Opaque } from '../../../core/index.ts';
import { unwrapInput, type AskedTool } from '../../shared/wire-kit/offered-tools.ts';
import { areNone, mayBeNone, noArguments } from '../../shared/wire-kit/tool-arguments.ts';
import { Transcript } from '../../shared/wire-kit/transcript.ts';
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { makeCallId } from './call-id.ts';
import { readSignatures } from './decode-messages.ts';
import { JsonEnd } from './json-end.ts';

/** What a call needs of the reply it stands in. */
export interface CallPlace {
  readonly candidate: number;
  nextBlock(): number;
  emit(event: CanonicalEvent): void;
  /** What tells this reply from others, for ids that have to be made. */
  reply(): string;
  /** The tool a client meant, where the vendor knows it by this other name or in another form. */
  asked(name: string): AskedTool | undefined;
}

interface Call {
  readonly ordinal: number;
  /** Undefined until the name is known: a call cannot be told without one. */
  block: number | undefined;
  id: string;
  name: string;
  custom: boolean;
  /** Whether the input has to be taken out of its arguments, at the end. */
  disguised: boolean;
  /** What it is called with so far. */
  readonly said: Transcript;
  /** The part of it that was not told yet. */
  waiting: string;
  readonly end: JsonEnd;
  /** Whether what is said is a whole object; undefined until somebody asks. */
  isObject: boolean | undefined;
  readonly opaque: Opaque[];
}

function word(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Arguments are JSON text; some vendors send the object itself. */
function textOf(value: unknown): string {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : word(value);
}

function addText(call: Call, text: string): void {
  call.said.add(text);
  call.waiting += text;
  call.end.add(text);
  call.isObject = undefined;
}

/** Whether the arguments of a call are a whole object. Parses them only once their brackets are closed, and not with each fragment. */
function isWhole(call: Call): boolean {
  if (!call.end.closed) return false;
  call.isObject ??= isObjectText(call.said.text);
  return call.isObject;
}

function isObjectText(text: string): boolean {
  try {
    return isObject(JSON.parse(text));
  } catch {
    return false;
  }
}

export class ToolCalls {
  readonly #place: CallPlace;
  readonly #byIndex = new Map<unknown, Call>();
  #open: Call[] = [];
  #count = 0;

  constructor(place: CallPlace) {
    this.#place = place;
  }

  get any(): boolean {
    return this.#count > 0;
  }

  /** Whether the arguments of every open call are complete, as far as that can be seen. */
  get whole(): boolean {
    return this.#open.every((call) => call.custom || areNone(call.said.text) || isWhole(call));
  }

  /** Passed a fragment, and where it stands among those that came with it. */
  take(fragment: Fields, position: number): void {
    const called = isObject(fragment.custom) ? fragment.custom : fragment.function;
    const body = isObject(called) ? called : {};
    const index = fragment.index ?? position;
    const id = word(fragment.id);
    const name = word(body.name);
    const text = textOf(body.arguments ?? body.input);
    let call = this.#byIndex.get(index);
    // Snowflake and some relays send a call with nothing in it beside plain text.
    if (!call && id === '' && name === '' && text === '') return;
    if (!call || startsAnother(call, id, name, text)) {
      call = {
        ordinal: this.#count,
        block: undefined,
        id,
        name,
        custom: isObject(fragment.custom),
        disguised: false,
        said: new Transcript(),
        waiting: '',
        end: new JsonEnd(),
        isObject: undefined,
        opaque: [],
      };
      this.#count += 1;
      this.#byIndex.set(index, call);
      this.#open.push(call);
    }
    call.id ||= id;
    call.name ||= name;
    if (text !== '') addText(call, text);
    if (fragment.extra_content !== undefined)
      for (const state of readSignatures(fragment.extra_content).opaque) call.opaque.push(state);
    if (call.name !== '') this.#tell(call);
  }

  /** Ends every call that is open. */
  end(): void {
    const { candidate, emit } = this.#place;
    for (const call of this.#open) {
      if (call.disguised) call.waiting = unwrapInput(call.said.text);
      // Other vendors, and the examples of OpenAI's clients, read arguments as JSON.
      else if (!call.custom && areNone(call.said.text)) call.waiting = noArguments;
      const block = this.#tell(call, true);
      emit({
        type: 'block-end',
        candidate,
        block,
        ...(call.opaque.length > 0 ? { opaque: call.opaque } : {}),
      });
    }
    this.#open = [];
    this.#byIndex.clear();
  }

  /** Gives on what is known of a call and was not told yet; `last`: nothing more comes. */
  #tell(call: Call, last = false): number {
    const { candidate, emit, nextBlock, reply, asked } = this.#place;
    if (call.block === undefined) {
      const tool = asked(call.name);
      call.block = nextBlock();
      call.disguised = !call.custom && (tool?.custom ?? false);
      const custom = call.custom || call.disguised ? { custom: true } : {};
      const id = call.id || makeCallId(reply(), candidate, call.ordinal);
      const sealed = call.opaque.length > 0 ? { opaque: [...call.opaque] } : {};
      emit({
        type: 'block-start',
        candidate,
        block: call.block,
        kind: 'tool-call',
        id,
        name: tool?.name ?? call.name,
        ...custom,
        ...sealed,
      });
    }
    const isUntold = call.said.length === call.waiting.length;
    const isHeld = !last && (call.disguised || (!call.custom && isUntold && mayBeNone(call.waiting)));
    if (!isHeld && call.waiting !== '') {
      emit({ type: 'block-delta', candidate, block: call.block, text: call.waiting });
      call.waiting = '';
    }
    return call.block;
  }
}

/** The one call of vendors that still write it as `function_call`. Snowflake writes an empty one beside plain text. */
export function formerCall(call: unknown): unknown[] {
  return isObject(call) ? [{ index: -1, function: call }] : [];
}

/** Whether a fragment with the index of `call` begins another one: by its id, or by coming after whole arguments. */
function startsAnother(call: Call, id: string, name: string, text: string): boolean {
  if (id !== '' && call.id !== '') return id !== call.id;
  return name !== '' && (text !== '' || name !== call.name) && isWhole(call);
}
