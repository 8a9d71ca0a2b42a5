/**
 * Reasoning as the vendors of this wire show it: `reasoning_content` (DeepSeek, vLLM) or `reasoning` (OpenRouter,
 * Groq) is text alone; an entry of OpenRouter's `reasoning_details` can carry a vendor's sealed state as well, and
 * its `format` says whose. That makes it the slot in which sealed state of any vendor travels with this protocol.
 */
import type { Block, Opaque } from '../../../core/index.ts';
import { isObject, leftover, overlay, type Fields } from '../../shared/vendor-bag.ts';
import { bag } from './bag.ts';

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
  return Object.keys(formats).find((vendor) => formats[vendor] === format) ?? format.replace(/^azure-/, '').replace(/-.*$/, '');
}

function formatOf(vendor: string): string | undefined {
  return vendor === '' ? undefined : (formats[vendor] ?? vendor);
}

/** What one entry says, and the names of the fields it says it in. */
export interface Detail {
  readonly text: string;
  readonly summary: boolean;
  readonly opaque: readonly Opaque[];
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
  const text = textOf(entry['text']);
  const summary = text === undefined ? textOf(entry['summary']) : undefined;
  const opaque = sealed.flatMap(({ field, kind }) => {
    const value = textOf(entry[field]);
    return value ? [{ vendor: vendorOf(entry['format']), kind, value }] : [];
  });
  const read = [
    ...(text === undefined ? [] : ['text']),
    ...(summary === undefined ? [] : ['summary']),
    ...sealed.flatMap(({ field, kind }) => (opaque.some((item) => item.kind === kind) ? [field] : [])),
  ];
  return { text: text ?? summary ?? '', summary: summary !== undefined, opaque, rest: leftover(entry, new Set(read)), read };
}

/** An entry that says the same: with the fields an earlier one was read from, or those its content asks for. */
export function writeDetail(block: { text: string; summary?: boolean | undefined; opaque: readonly Opaque[] }, rest: Fields, read?: readonly string[]): Fields {
  const value = (kind: string): string | undefined => block.opaque.find((item) => (kind === 'signature') === (item.kind === 'signature'))?.value;
  const encrypted = value('encrypted');
  const textField = block.summary ? 'summary' : 'text';
  const has = (field: string, otherwise: boolean): boolean => read?.includes(field) ?? otherwise;
  const format = formatOf(block.opaque[0]?.vendor ?? '');
  const usual = { type: encrypted === undefined ? `reasoning.${textField}` : 'reasoning.encrypted', ...(format === undefined ? {} : { format }) };
  return overlay(Object.keys(rest).length > 0 ? rest : usual, {
    text: has('text', textField === 'text' && block.text !== '') ? block.text : undefined,
    summary: has('summary', textField === 'summary' && block.text !== '') ? block.text : undefined,
    signature: has('signature', true) ? value('signature') : undefined,
    data: has('data', true) ? encrypted : undefined,
  });
}

const textFields = ['reasoning_content', 'reasoning'] as const;
const detailsField = 'reasoning_details';

/** The reasoning of an assistant's message as blocks, and the fields they were read from. */
export function readReasoning(message: Fields): { blocks: ReasoningBlock[]; read: readonly string[] } {
  const details = message[detailsField];
  if (Array.isArray(details) && details.length > 0) {
    const entries: unknown[] = details;
    const blocks = entries.filter(isObject).map((entry): ReasoningBlock => {
      const { text, summary, opaque, rest, read } = readDetail(entry);
      return { type: 'reasoning', text, ...(summary ? { summary } : {}), ...(opaque.length > 0 ? { opaque: [...opaque] } : {}), ...bag.keep(rest, [detailsField, ...read]) };
    });
    return { blocks, read: [detailsField] };
  }
  const field = textFields.find((name) => typeof message[name] === 'string');
  const text = field && textOf(message[field]);
  if (field === undefined || text === undefined) return { blocks: [], read: [] };
  return { blocks: [{ type: 'reasoning', text, ...bag.keep({}, [field]) }], read: [field] };
}

/**
 * Reasoning blocks as fields of an assistant's message. What this protocol read goes back where it stood; of other
 * protocols' reasoning only what the vendor itself sealed, or has left unsealed in its own name, is given back.
 */
export function writeReasoning(blocks: readonly ReasoningBlock[]): Fields {
  const texts: Record<string, string> = {};
  const details: Fields[] = [];
  for (const block of blocks) {
    const [field, ...read] = bag.form(block);
    const opaque = block.opaque?.filter(({ value }) => value !== '') ?? [];
    if (field === detailsField || (field === undefined && opaque.length > 0)) {
      details.push(writeDetail({ ...block, opaque }, bag.fields(block), field === detailsField ? read : undefined));
    } else {
      const name = field ?? textFields[0];
      texts[name] = (texts[name] ?? '') + block.text;
    }
  }
  return { ...texts, ...(details.length > 0 ? { [detailsField]: details } : {}) };
}
