/**
 * Reasoning in both directions. `reasoning_content` (DeepSeek, vLLM) and `reasoning` (OpenRouter, Groq) hold
 * text only. An entry of OpenRouter's `reasoning_details` can also hold state that a vendor sealed; its
 * `format` names the vendor. Clients get sealed state in such entries, in the gateway's own envelope.
 */
import type { Model, Opaque, ReasoningBlock } from '../../../core/index.ts';
import { chatFlags, refuses } from '../../shared/wire-kit/chat-flags.ts';
import { seal, unseal } from '../../shared/wire-kit/envelope.ts';
import { readOwner } from '../../shared/wire-kit/fit-to-model.ts';
import { readString } from '../../shared/wire-kit/values.ts';
import { isObject, pickUnread, overlay, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag } from './bag.ts';

const formats: Readonly<Record<string, string>> = {
  anthropic: 'anthropic-claude-v1',
  google: 'google-gemini-v1',
  openai: 'openai-responses-v1',
  xai: 'xai-responses-v1',
};

/** `anthropic-claude-v1` → `anthropic`: the vendor whose models can read the state. */
function readVendor(format: unknown): string {
  if (typeof format !== 'string') return '';
  return (
    Object.keys(formats).find((vendor) => formats[vendor] === format) ??
    format.replace(/^azure-/, '').split('-', 1)[0] ??
    ''
  );
}

function findFormat(vendor: string): string | undefined {
  return vendor === '' ? undefined : (formats[vendor] ?? vendor);
}

/** An entry of `reasoning_details`. */
export interface Detail {
  readonly text: string;
  readonly summary: boolean;
  readonly opaque: readonly Opaque[];
  /** Whether its state is in our envelope, so that we wrote the entry. */
  readonly enveloped: boolean;
  readonly rest: Fields;
  readonly read: readonly string[];
}

const sealed = [
  { field: 'signature', kind: 'signature' },
  { field: 'data', kind: 'encrypted' },
] as const;

export function readDetail(entry: Fields): Detail {
  const text = readString(entry.text);
  const summary = text === undefined ? readString(entry.summary) : undefined;
  const states = sealed.flatMap(({ field, kind }) => {
    const value = readString(entry[field]);
    if (!value) return [];
    const ours = unseal(value);
    return [
      { field, ours: ours !== undefined, opaque: ours ?? { vendor: readVendor(entry.format), kind, value } },
    ];
  });
  const read = [
    ...(text === undefined ? [] : ['text']),
    ...(summary === undefined ? [] : ['summary']),
    ...states.map(({ field }) => field),
  ];
  return {
    text: text ?? summary ?? '',
    summary: summary !== undefined,
    opaque: states.map(({ opaque }) => opaque),
    enveloped: states.some(({ ours }) => ours),
    rest: pickUnread(entry, read),
    read,
  };
}

interface Thought {
  readonly text: string;
  readonly summary?: boolean | undefined;
  readonly opaque: readonly Opaque[];
}

/** Writes a thought as entries: its text with the signature, if there is one, then the other sealed state. */
function writeDetails(
  { text, summary, opaque }: Thought,
  common: (state: Opaque | undefined) => Fields,
  write: (state: Opaque) => string,
): Fields[] {
  const signature = opaque.find(({ kind }) => kind === 'signature');
  const field = summary ? 'summary' : 'text';
  const textEntry = {
    type: `reasoning.${field}`,
    [field]: text,
    ...(signature ? { signature: write(signature) } : {}),
    ...common(signature),
  };
  const others = opaque.filter((state) => state !== signature);
  return [
    ...(text !== '' || signature ? [textEntry] : []),
    ...others.map((state) => ({ type: 'reasoning.encrypted', data: write(state), ...common(state) })),
  ];
}

/** Writes a thought for a client, with all state in envelopes. Its entries share an index. */
export function sealDetails(thought: Thought, index: number): Fields[] {
  return writeDetails(thought, () => ({ index }), seal);
}

/** Whether the provider refuses unknown fields of messages, as OpenAI and Mistral do. */
export function refusesExtensions(model: Model): boolean {
  return (
    (chatFlags(model.capabilities).extras && model.id.startsWith('openai/')) ||
    refuses(model, 'reasoning_content')
  );
}

function isAnswer({ role }: Fields): boolean {
  return role === 'assistant';
}

/** Whether a conversation with tool calls has assistant messages without their reasoning. */
export function lacksReasoning(messages: readonly Fields[]): boolean {
  const answers = messages.filter(isAnswer);
  return answers.some((answer) => answer.tool_calls) && !answers.every((answer) => answer.reasoning_content);
}

/** Whether a call turns reasoning off, so that DeepSeek does not need earlier reasoning. */
export function isReasoningOff({ thinking }: Fields): boolean {
  return isObject(thinking) && thinking.type === 'disabled';
}

/** Puts a blank in place of missing reasoning. DeepSeek accepts that, but no empty text. */
export function fillReasoning(messages: readonly Fields[]): Fields[] {
  return messages.map((message) =>
    isAnswer(message) ? { ...message, reasoning_content: message.reasoning_content || ' ' } : message,
  );
}

/** An empty seal for reasoning that comes without one but has to be sent back: it names the vendor. */
export function markUnsealed(model: Model): readonly Opaque[] {
  return chatFlags(model.capabilities).thinkingMode
    ? [{ vendor: readOwner(model), kind: 'signature', value: '' }]
    : [];
}

/** Flag of reasoning that is a part of the content. */
export const thinkingForm = 'thinking';

/** Only Mistral's own API takes reasoning in the content; other hosts of its models want it in a field. */
export function takesThinkingParts({ id }: Model): boolean {
  return id.startsWith('mistral/');
}

const textSuffix = ' of text';

/** Marks state that belongs to the answer's text and not to the reasoning it is sent with. */
export function markAsTextState(opaque: Opaque): Opaque {
  return { ...opaque, kind: opaque.kind + textSuffix };
}

const textFields = ['reasoning_content', 'reasoning'] as const;
const detailsField = 'reasoning_details';

/** An assistant message's reasoning, the sealed state of its text, and the names of the read fields. */
export function readReasoning(
  message: Fields,
  at: string,
): { blocks: ReasoningBlock[]; text?: readonly Opaque[]; read: readonly string[] } {
  const details = message[detailsField];
  if (Array.isArray(details) && details.length > 0) {
    const entries: unknown[] = details;
    // Entries that we wrote repeat the text. A vendor's may differ from it, so both are kept.
    const ours = entries.some((entry) => isObject(entry) && readDetail(entry).enveloped);
    return {
      ...separateTextState(readEntries(entries, `${at}.${detailsField}`)),
      read: ours ? [detailsField, ...textFields] : [detailsField],
    };
  }
  const field = textFields.find((name) => typeof message[name] === 'string');
  const text = field && readString(message[field]);
  if (field === undefined || text === undefined) return { blocks: [], read: [] };
  return {
    blocks: [{ type: 'reasoning', text, at: `${at}.${field}`, ...bag.keep({}, [field]) }],
    read: [field],
  };
}

function holdsTextState({ opaque = [] }: ReasoningBlock): boolean {
  return opaque.some(({ kind }) => kind.endsWith(textSuffix));
}

function separateTextState(
  blocks: readonly ReasoningBlock[],
): Pick<ReturnType<typeof readReasoning>, 'blocks' | 'text'> {
  const text = blocks.filter(holdsTextState).flatMap(({ opaque = [] }) => opaque);
  return {
    blocks: blocks.filter((block) => !holdsTextState(block)),
    text: text.map((state) => ({ ...state, kind: state.kind.slice(0, -textSuffix.length) })),
  };
}

function readEntries(details: readonly unknown[], path: string): ReasoningBlock[] {
  const blocks: ReasoningBlock[] = [];
  let previous: unknown;
  for (const [position, entry] of details.entries()) {
    if (!isObject(entry)) continue;
    const { text, summary, opaque, enveloped, rest, read } = readDetail(entry);
    const at = `${path}[${position}]`;
    const before = blocks.at(-1);
    const facts = {
      type: 'reasoning',
      text,
      ...(summary ? { summary } : {}),
      ...(opaque.length > 0 ? { opaque: [...opaque] } : {}),
      at,
    } as const;
    if (!enveloped) blocks.push({ ...facts, ...bag.keep(rest, [detailsField, ...read]) });
    else if (before && text === '' && entry.index === previous)
      blocks.splice(-1, 1, addState(before, opaque));
    else blocks.push(facts);
    previous = entry.index;
  }
  return blocks;
}

/** Adds state from an entry of its own. It was in an envelope, so the block is not restored as written. */
function addState(
  { text, summary, opaque = [], at }: ReasoningBlock,
  more: readonly Opaque[],
): ReasoningBlock {
  for (const state of more) opaque.push(state);
  return {
    type: 'reasoning',
    text,
    ...(summary ? { summary } : {}),
    opaque,
    ...(at === undefined ? {} : { at }),
  };
}

/** Writes an entry as it was read, in the same fields. */
function restoreDetail({ text, opaque = [] }: ReasoningBlock, rest: Fields, read: readonly string[]): Fields {
  const seals = sealed.map(({ field, kind }) => [field, opaque.find((state) => state.kind === kind)?.value]);
  const fields = Object.entries({ text, summary: text, ...Object.fromEntries(seals) });
  return overlay(rest, Object.fromEntries(fields.filter(([name]) => read.includes(name))));
}

/**
 * Writes reasoning blocks as fields of an assistant message. What this protocol read is restored. State that
 * a vendor sealed becomes entries in that vendor's format. Blocks with an empty seal become plain text.
 */
export function writeReasoning(blocks: readonly ReasoningBlock[]): Fields {
  const texts: Record<string, string> = {};
  const details: Fields[] = [];
  for (const block of blocks) {
    const [field, ...read] = bag.getForm(block);
    const opaque = block.opaque?.filter(({ value }) => value !== '') ?? [];
    if (field === detailsField) {
      details.push(restoreDetail(block, bag.getFields(block), read));
    } else if (opaque.length > 0) {
      const writeFormat = (state: Opaque | undefined): Fields => ({
        format: findFormat((state ?? opaque[0])?.vendor ?? ''),
      });
      for (const detail of writeDetails({ ...block, opaque }, writeFormat, ({ value }) => value))
        details.push(detail);
    } else {
      const name = field ?? textFields[0];
      texts[name] = (texts[name] ?? '') + block.text;
    }
  }
  return { ...texts, ...(details.length > 0 ? { [detailsField]: details } : {}) };
}
