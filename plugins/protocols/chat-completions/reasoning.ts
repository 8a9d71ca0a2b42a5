/**
 * Reasoning and sealed state, in both directions. `reasoning_content` (DeepSeek, vLLM) and `reasoning`
 * (OpenRouter, Groq) hold only text. An entry of OpenRouter's `reasoning_details` can also hold state that a
 * vendor sealed; its `format` names the vendor. The gateway sends such entries to clients, with state in
 * envelopes. Google's chat endpoint keeps its signatures in `extra_content.google.thought_signature`.
 */
import type { Opaque, Model, ReasoningBlock } from '../../../core/index.ts';
import { chatFlags, refuses } from '../../shared/openai/chat-flags.ts';
import { unseal, seal } from '../../shared/wire-kit/envelope.ts';
import { readOwner } from '../../shared/wire-kit/fit-to-model.ts';
import { readString, readObjects, readText } from '../../shared/wire-kit/values.ts';
import { isObject, pickUnread, nestFields, type Fields, overlay } from '../../shared/wire-kit/vendor-bag.ts';
import { bag } from './encoding.ts';

export function readSignatures(extra: unknown): { readonly opaque: Opaque[]; readonly rest: Fields } {
  if (!isObject(extra)) return { opaque: [], rest: {} };
  const opaque: Opaque[] = [];
  const rest = Object.entries(extra).flatMap(([vendor, fields]) => {
    const value = isObject(fields) ? fields.thought_signature : undefined;
    if (!isObject(fields) || typeof value !== 'string') return [[vendor, fields]];
    opaque.push(unseal(value) ?? { vendor, kind: 'signature', value });
    return Object.entries(nestFields(vendor, pickUnread(fields, ['thought_signature'])));
  });
  return { opaque, rest: Object.fromEntries(rest) };
}

/** Builds the field of a call or an image that holds its signatures. `write` may put them in an envelope. */
export function writeSignatures(opaque: readonly Opaque[], write: (state: Opaque) => string): Fields {
  if (opaque.length === 0) return {};
  const entries = opaque.map((state) => [state.vendor, { thought_signature: write(state) }]);
  return { extra_content: Object.fromEntries(entries) };
}

const formats: Readonly<Record<string, string>> = {
  anthropic: 'anthropic-claude-v1',
  google: 'google-gemini-v1',
  openai: 'openai-responses-v1',
  xai: 'xai-responses-v1',
};

/** Returns the vendor whose models can read the state: `anthropic` for `anthropic-claude-v1`. */
function readVendor(format: unknown): string {
  return (
    readText(format)
      .replace(/^azure-/, '')
      .split('-', 1)[0] ?? ''
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
  /** Whether its state is in the gateway's envelope, so the gateway wrote the entry. */
  readonly enveloped: boolean;
  readonly rest: Fields;
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
  };
}

interface Thought {
  readonly text: string;
  readonly summary?: boolean | undefined;
  readonly opaque: readonly Opaque[];
}

/** Writes a thought as entries: its text with the signature, if any, then one entry for each other state. */
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

/** Writes a thought for a client, with all sealed state in envelopes. Its entries share an index. */
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

/** Replaces missing reasoning by a blank. DeepSeek accepts a blank, but not an empty string. */
export function fillReasoning(messages: readonly Fields[]): Fields[] {
  return messages.map((message) =>
    isAnswer(message) ? { ...message, reasoning_content: message.reasoning_content || ' ' } : message,
  );
}

/** Marks reasoning that has no seal but must be sent back: an empty seal names its vendor. */
export function markUnsealed(model: Model): readonly Opaque[] {
  return chatFlags(model.capabilities).thinkingMode
    ? [{ vendor: readOwner(model), kind: 'signature', value: '' }]
    : [];
}

/** Only Mistral's own API accepts reasoning in the content; other hosts of its models expect a field. */
export function takesThinkingParts({ id }: Model): boolean {
  return id.startsWith('mistral/');
}

const textSuffix = ' of text';

/** Marks sealed state of the answer's text. It is sent with the reasoning, but does not belong to it. */
export function markAsTextState(opaque: Opaque): Opaque {
  return { ...opaque, kind: opaque.kind + textSuffix };
}

const textFields = ['reasoning_content', 'reasoning'] as const;
const detailsField = 'reasoning_details';

/** Reads an assistant message's reasoning, and the sealed state of its text. */
export function readReasoning(
  message: Fields,
  at: string,
): { blocks: ReasoningBlock[]; text?: readonly Opaque[] } {
  const details = message[detailsField];
  if (Array.isArray(details) && details.length > 0) {
    const entries = readObjects(details);
    // The gateway's entries repeat the plain text. A vendor's may differ from it, so both are kept.
    const ours = entries.some((entry) => readDetail(entry).enveloped);
    for (const name of ours ? textFields : []) void message[name];
    return separateTextState(readEntries(details, `${at}.${detailsField}`));
  }
  const field = textFields.find((name) => typeof message[name] === 'string');
  return field === undefined
    ? { blocks: [] }
    : { blocks: [{ type: 'reasoning', text: readText(message[field]), at: `${at}.${field}` }] };
}

function holdsTextState({ opaque = [] }: ReasoningBlock): boolean {
  return opaque.some(({ kind }) => kind.endsWith(textSuffix));
}

function separateTextState(blocks: readonly ReasoningBlock[]): ReturnType<typeof readReasoning> {
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
    const { text, summary, opaque, enveloped, rest } = readDetail(entry);
    const at = `${path}[${position}]`;
    const before = blocks.at(-1);
    const state = opaque.length > 0 ? { opaque: [...opaque] } : {};
    const facts = { type: 'reasoning', text, ...(summary ? { summary } : {}), ...state, at } as const;
    if (!enveloped) blocks.push({ ...facts, ...bag.keep(rest) });
    // The gateway wrote this entry for sealed state alone, so it is not restored.
    else if (before && text === '' && entry.index === previous)
      blocks.splice(-1, 1, { ...before, vendor: undefined, opaque: [...(before.opaque ?? []), ...opaque] });
    else blocks.push(facts);
    previous = entry.index;
  }
  return blocks;
}

/** Writes an entry of a client of this protocol, whose other fields are in the bag. */
function writeDetail({ text, summary, opaque = [] }: ReasoningBlock, rest: Fields): Fields {
  const seals = sealed.map(({ field, kind }) => [field, opaque.find((state) => state.kind === kind)?.value]);
  const said = text === '' ? {} : { [summary ? 'summary' : 'text']: text };
  return overlay(rest, { ...said, ...Object.fromEntries(seals) });
}

/**
 * Writes reasoning blocks as fields of an assistant message. Sealed state becomes entries in its vendor's
 * format. Blocks with an empty seal become plain text.
 */
export function writeReasoning(blocks: readonly ReasoningBlock[]): Fields {
  let plain: string | undefined;
  const details: Fields[] = [];
  for (const block of blocks) {
    const fields = bag.getFields(block);
    const opaque = block.opaque?.filter(({ value }) => value !== '') ?? [];
    if (fields.type !== undefined) {
      details.push(writeDetail(block, fields));
    } else if (opaque.length > 0) {
      const writeFormat = (state: Opaque | undefined): Fields => ({
        format: findFormat((state ?? opaque[0])?.vendor ?? ''),
      });
      for (const detail of writeDetails({ ...block, opaque }, writeFormat, ({ value }) => value))
        details.push(detail);
    } else {
      plain = (plain ?? '') + block.text;
    }
  }
  return {
    ...(plain === undefined ? {} : { [textFields[0]]: plain }),
    ...(details.length > 0 ? { [detailsField]: details } : {}),
  };
}
