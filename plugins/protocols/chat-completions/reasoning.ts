/**
 * Reasoning as the vendors of this wire show it: `reasoning_content` (DeepSeek, vLLM) or `reasoning` (OpenRouter,
 * Groq) is text alone; an entry of OpenRouter's `reasoning_details` can carry a vendor's sealed state as well, and
 * its `format` says whose. Clients are given sealed state in the same entries, in the gateway's own envelope.
 */
import type { Block, Model, Opaque } from '../../../core/index.ts';
import { chatFlags } from '../../shared/wire-kit/chat-flags.ts';
import { seal, unseal } from '../../shared/wire-kit/envelope.ts';
import { isObject, leftover, overlay, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag } from './bag.ts';
import { refuses } from './fields.ts';

export type ReasoningBlock = Extract<Block, { type: 'reasoning' }>;

const formats: Readonly<Record<string, string>> = {
  anthropic: 'anthropic-claude-v1',
  google: 'google-gemini-v1',
  openai: 'openai-responses-v1',
  xai: 'xai-responses-v1',
};

/** `anthropic-claude-v1` → `anthropic`: the owner of the models that understand the state. */
function vendorOf(format: unknown): string {
  if (typeof format !== 'string') return '';
  return (
    Object.keys(formats).find((vendor) => formats[vendor] === format) ??
    format.replace(/^azure-/, '').split('-', 1)[0] ??
    ''
  );
}

function formatOf(vendor: string): string | undefined {
  return vendor === '' ? undefined : (formats[vendor] ?? vendor);
}

/** What one entry says, and the names of the fields it says it in. */
export interface Detail {
  readonly text: string;
  readonly summary: boolean;
  readonly opaque: readonly Opaque[];
  /** Whether its state came in our own envelope: then the entry is ours too. */
  readonly enveloped: boolean;
  readonly rest: Fields;
  readonly read: readonly string[];
}

const sealed = [
  { field: 'signature', kind: 'signature' },
  { field: 'data', kind: 'encrypted' },
] as const;

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

export function readDetail(entry: Fields): Detail {
  const text = textOf(entry.text);
  const summary = text === undefined ? textOf(entry.summary) : undefined;
  const states = sealed.flatMap(({ field, kind }) => {
    const value = textOf(entry[field]);
    if (!value) return [];
    const ours = unseal(value);
    return [
      { field, ours: ours !== undefined, opaque: ours ?? { vendor: vendorOf(entry.format), kind, value } },
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
    rest: leftover(entry, new Set(read)),
    read,
  };
}

interface Thought {
  readonly text: string;
  readonly summary?: boolean | undefined;
  readonly opaque: readonly Opaque[];
}

/** Entries that say a thought: its text, with the signature on it where there is one, then what else is sealed. */
function writeDetails(
  { text, summary, opaque }: Thought,
  common: (state: Opaque | undefined) => Fields,
  write: (state: Opaque) => string,
): Fields[] {
  const signature = opaque.find(({ kind }) => kind === 'signature');
  const field = summary ? 'summary' : 'text';
  const said = {
    type: `reasoning.${field}`,
    [field]: text,
    ...(signature ? { signature: write(signature) } : {}),
    ...common(signature),
  };
  const others = opaque.filter((state) => state !== signature);
  return [
    ...(text !== '' || signature ? [said] : []),
    ...others.map((state) => ({ type: 'reasoning.encrypted', data: write(state), ...common(state) })),
  ];
}

/** Entries for a client: its own and other vendors' state alike in envelopes, all with the index of their thought. */
export function envelopeDetails(thought: Thought, index: number): Fields[] {
  return writeDetails(thought, () => ({ index }), seal);
}

/** OpenAI and Mistral refuse messages with fields they do not know; others that speak this wire have some for thoughts and pictures, or pass over them. */
export function refusesExtensions(model: Model): boolean {
  return (
    (chatFlags(model.capabilities).extras && model.id.startsWith('openai/')) ||
    refuses(model, 'reasoning_content')
  );
}

function isAnswer({ role }: Fields): boolean {
  return role === 'assistant';
}

/** Whether a conversation in which tools were called has answers without what was thought before them. */
export function lacksThoughts(messages: readonly Fields[]): boolean {
  const answers = messages.filter(isAnswer);
  return answers.some((answer) => answer.tool_calls) && !answers.every((answer) => answer.reasoning_content);
}

/** Whether a call says that the model is not to think: then DeepSeek wants no thoughts back. */
export function isThinkingOff({ thinking }: Fields): boolean {
  return isObject(thinking) && thinking.type === 'disabled';
}

/** A blank in place of thoughts that are gone or were another vendor's: DeepSeek takes that, and an empty text for none. */
export function blankThoughts(messages: readonly Fields[]): Fields[] {
  return messages.map((message) =>
    isAnswer(message) ? { ...message, reasoning_content: message.reasoning_content || ' ' } : message,
  );
}

/** What stands for a seal on thoughts that are wanted back and come without one: it says whose they are. */
export function unsealed({ id, capabilities }: Model): readonly Opaque[] {
  return chatFlags(capabilities).thinkingMode
    ? [{ vendor: id.slice(0, id.indexOf('/')), kind: 'signature', value: '' }]
    : [];
}

/** How thoughts are written that are parts of the content. */
export const thinkingForm = 'thinking';

/** Mistral's API alone has thoughts in the content; what others host of its models is told them beside it. */
export function takesThinkingParts({ id }: Model): boolean {
  return id.startsWith('mistral/');
}

const textMark = ' of text';

/** State that belongs to the text of the answer and not to the thoughts it stands among. */
export function ofText(opaque: Opaque): Opaque {
  return { ...opaque, kind: opaque.kind + textMark };
}

const textFields = ['reasoning_content', 'reasoning'] as const;
const detailsField = 'reasoning_details';

/** The reasoning of an assistant's message as blocks, and the fields they were read from. */
export function readReasoning(
  message: Fields,
  at: string,
): { blocks: ReasoningBlock[]; text?: readonly Opaque[]; read: readonly string[] } {
  const details = message[detailsField];
  if (Array.isArray(details) && details.length > 0) {
    const entries: unknown[] = details;
    // The entries we wrote hold the text as well; a vendor's may differ from it, and both are kept.
    const ours = entries.some((entry) => isObject(entry) && readDetail(entry).enveloped);
    return {
      ...apart(readEntries(entries, `${at}.${detailsField}`)),
      read: ours ? [detailsField, ...textFields] : [detailsField],
    };
  }
  const field = textFields.find((name) => typeof message[name] === 'string');
  const text = field && textOf(message[field]);
  if (field === undefined || text === undefined) return { blocks: [], read: [] };
  return {
    blocks: [{ type: 'reasoning', text, at: `${at}.${field}`, ...bag.keep({}, [field]) }],
    read: [field],
  };
}

/** The thoughts, and the state of the text that came with them. */
function apart(blocks: readonly ReasoningBlock[]): { blocks: ReasoningBlock[]; text: readonly Opaque[] } {
  const isText = ({ opaque = [] }: ReasoningBlock): boolean =>
    opaque.some(({ kind }) => kind.endsWith(textMark));
  const text = blocks.filter(isText).flatMap(({ opaque = [] }) => opaque);
  return {
    blocks: blocks.filter((block) => !isText(block)),
    text: text.map((state) => ({ ...state, kind: state.kind.slice(0, -textMark.length) })),
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
    else if (before && text === '' && entry.index === previous) blocks.splice(-1, 1, joined(before, opaque));
    else blocks.push(facts);
    previous = entry.index;
  }
  return blocks;
}

/** A thought whose state came in an entry of its own; as an envelope's content it is no longer this wire's own. */
function joined({ text, summary, opaque = [], at }: ReasoningBlock, more: readonly Opaque[]): ReasoningBlock {
  for (const state of more) opaque.push(state);
  return {
    type: 'reasoning',
    text,
    ...(summary ? { summary } : {}),
    opaque,
    ...(at === undefined ? {} : { at }),
  };
}

/** An entry as it was read, in the fields it was read from. */
function restoreDetail({ text, opaque = [] }: ReasoningBlock, rest: Fields, read: readonly string[]): Fields {
  const fields = Object.fromEntries(
    sealed.map(({ field, kind }) => [field, opaque.find((state) => state.kind === kind)?.value]),
  );
  return overlay(
    rest,
    Object.fromEntries(
      Object.entries({ text, summary: text, ...fields }).filter(([name]) => read.includes(name)),
    ),
  );
}

/**
 * Reasoning blocks as fields of an assistant's message. What this protocol read goes back where it stood; what its
 * vendor sealed and a client kept for it goes back in that vendor's own entries, and an empty seal in plain text.
 */
export function writeReasoning(blocks: readonly ReasoningBlock[]): Fields {
  const texts: Record<string, string> = {};
  const details: Fields[] = [];
  for (const block of blocks) {
    const [field, ...read] = bag.form(block);
    const opaque = block.opaque?.filter(({ value }) => value !== '') ?? [];
    if (field === detailsField) {
      details.push(restoreDetail(block, bag.fields(block), read));
    } else if (opaque.length > 0) {
      const format = (state: Opaque | undefined): Fields => ({
        format: formatOf((state ?? opaque[0])?.vendor ?? ''),
      });
      for (const detail of writeDetails({ ...block, opaque }, format, ({ value }) => value))
        details.push(detail);
    } else {
      const name = field ?? textFields[0];
      texts[name] = (texts[name] ?? '') + block.text;
    }
  }
  return { ...texts, ...(details.length > 0 ? { [detailsField]: details } : {}) };
}
