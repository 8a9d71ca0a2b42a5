/** Canonical blocks as parts of a content. What this wire has no words for is told as lost. */
import type { Block, Opaque } from '../../../core/index.ts';
import { contextOf } from '../../shared/wire-kit/media.ts';
import { argumentsObject, parseExactly } from '../../shared/wire-kit/tool-arguments.ts';
import { isObject, overlay, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName } from './bag.ts';
import type { Encoding } from './encoding.ts';
import { writeMedia, type MediaBlock } from './media.ts';
import { isNative, restoreSignature } from './signature.ts';
import { fitName } from './tool-names.ts';

export type ToolResult = Extract<Block, { type: 'tool-result' }>;
type ToolCall = Extract<Block, { type: 'tool-call' }>;
type TextBlock = Extract<Block, { type: 'text' }>;

const notTheirs = 'sealed state is only given back to the vendor it came from';

/** The signature of a part, and every seal that is not for this model told as lost. */
function signatureOf(
  block: { opaque?: Opaque[] | undefined } & Parameters<typeof bag.form>[0],
  path: string,
  { native, lose }: Encoding,
): string | undefined {
  const { opaque = [] } = block;
  const kept = native ? opaque.filter(isNative) : [];
  if (kept.length < opaque.length) lose(`${path}.opaque`, notTheirs, 'state');
  return restoreSignature(kept, bag.form(block));
}

/** The parts of any block but a tool's result; several where a file is told by name before it. */
export function encodeBlock(block: Exclude<Block, ToolResult>, path: string, encoding: Encoding): Fields[] {
  const { lose } = encoding;
  if (block.cache) lose(`${path}.cache`, 'Gemini finds what to cache by itself');
  switch (block.type) {
    case 'text':
      return encodeText(block, path, encoding);
    case 'refusal':
      return [{ text: block.text }];
    case 'reasoning':
      return encodeReasoning(block, path, encoding);
    case 'media':
      return encodeMedia(block, path, encoding);
    case 'tool-call':
      return [encodeCall(block, path, encoding)];
    case 'foreign':
      if (block.protocol === protocolName && isObject(block.value)) return [block.value];
      lose(path, `only ${block.protocol} has it`, 'vendor');
      return [];
  }
}

function encodeText(block: TextBlock, path: string, encoding: Encoding): Fields[] {
  const signature = signatureOf(block, path, encoding);
  if (!encoding.own && block.text === '' && signature === undefined) return [];
  const text = block.text === '' && bag.form(block).includes('no-text') ? undefined : block.text;
  return [overlay(bag.fields(block), { text, thoughtSignature: signature })];
}

/** Reasoning goes back to the vendor it came from alone, and never as text nobody sealed. */
function encodeReasoning(
  block: Extract<Block, { type: 'reasoning' }>,
  path: string,
  { own, native, lose }: Encoding,
): Fields[] {
  const { opaque = [] } = block;
  const form = bag.form(block);
  const theirs = opaque.every(isNative) && (opaque.length > 0 || own);
  if (!native || !theirs) {
    if (block.text !== '' || opaque.length > 0)
      lose(path, 'reasoning is only given back to the vendor it came from', 'state');
    return [];
  }
  const text = block.text === '' && form.includes('no-text') ? undefined : block.text;
  return [
    overlay(bag.fields(block), { text, thought: true, thoughtSignature: restoreSignature(opaque, form) }),
  ];
}

const details: ReadonlySet<string> = new Set(['low', 'medium', 'high', 'ultra_high']);

function resolutionOf(
  { detail }: MediaBlock,
  path: string,
  { own, modern, lose }: Encoding,
): Fields | undefined {
  if (detail === undefined || (detail === 'auto' && !own)) return undefined;
  if (own || (modern && details.has(detail))) return { level: `MEDIA_RESOLUTION_${detail.toUpperCase()}` };
  lose(`${path}.detail`, 'the model has no such resolution', 'model');
  return undefined;
}

function encodeMedia(block: MediaBlock, path: string, encoding: Encoding): Fields[] {
  const { title, filename, source } = block;
  const part = writeMedia(block, bag.form(block), encoding.own, path);
  const whole = overlay(bag.fields(block), {
    ...part,
    mediaResolution: resolutionOf(block, path, encoding),
    thoughtSignature: signatureOf(block, path, encoding),
  });
  const context = contextOf(block, path, encoding.lose);
  const before = context === undefined ? [] : [{ text: context }];
  if (encoding.own || source.type === 'text') return [...before, whole];
  const name = title ?? filename;
  return name === undefined ? [...before, whole] : [...before, { text: `${name}:` }, whole];
}

function encodeCall(block: ToolCall, path: string, encoding: Encoding): Fields {
  const { id, name, arguments: text, custom, namespace } = block;
  const form = bag.form(block);
  const wireId = form.includes('no-id') ? undefined : form.includes('empty-id') ? '' : id;
  // Text that is no object goes under a name of its own: the model's words are worth more than their form.
  const object = custom ? { input: text } : argumentsObject(text);
  if (!object) encoding.lose(`${path}.arguments`, 'no JSON object; sent as text in "_raw"', 'approximated');
  const args = form.includes('no-args') && text === '{}' ? undefined : (object ?? { _raw: text });
  if (namespace !== undefined)
    encoding.lose(`${path}.namespace`, 'generate-content has no namespaces for tools');
  const call = { id: wireId, name: encoding.own ? name : fitName(name), args };
  return overlay(bag.fields(block), {
    functionCall: call,
    thoughtSignature: signatureOf(block, path, encoding),
  });
}

export interface EncodedResult {
  readonly part: Fields;
  /** Files that have to follow the results, each behind a line that names it. */
  readonly files: Fields[];
}

/** Passed the name of the function it answers, and how many files went before. */
export function encodeResult(
  block: ToolResult,
  name: string,
  path: string,
  encoding: Encoding,
  before: number,
): EncodedResult {
  const { own, modern, lose } = encoding;
  if (block.cache) lose(`${path}.cache`, 'Gemini finds what to cache by itself');
  const texts: string[] = [];
  const parts: Fields[] = [];
  const files: Fields[] = [];
  for (const [index, content] of block.content.entries()) {
    const place = `${path}.content[${index}]`;
    if (content.type === 'text') {
      if (content.cache) lose(`${place}.cache`, 'Gemini finds what to cache by itself');
      texts.push(content.text);
      continue;
    }
    const encoded = encodeBlock(content, place, encoding);
    for (const file of encoded) {
      if (typeof file.text === 'string') {
        texts.push(file.text);
        continue;
      }
      if (own || (modern && content.kind !== 'audio' && content.kind !== 'video')) {
        parts.push(file);
        continue;
      }
      const title = `file ${before + files.length / 2 + 1}`;
      texts.push(`See ${title}.`);
      files.push({ text: `This is ${title}:` }, file);
    }
  }
  const form = bag.form(block);
  const id = form.includes('no-id')
    ? undefined
    : (form.find((word) => word.startsWith('id:'))?.slice('id:'.length) ?? block.callId);
  const response = responseOf(texts, block, form);
  const result = {
    id,
    name: own ? name : fitName(name),
    response,
    parts: parts.length > 0 ? parts : undefined,
  };
  return { part: overlay(bag.fields(block), { functionResponse: result }), files };
}

/**
 * A tool's text under one of the two names Google documents, and never as an object of its own: a `$ref` in it would
 * be taken for a reference to a declared function.
 */
function responseOf(
  texts: readonly string[],
  { isError = false }: ToolResult,
  form: readonly string[],
): unknown {
  if (form.includes('no-response') && texts.length === 0) return undefined;
  const text = texts.join('\n\n');
  const name = isError ? 'error' : 'output';
  if (!form.includes('object') && !form.includes('json')) return { [name]: text };
  try {
    const value = parseExactly(text);
    return form.includes('object') && isObject(value) ? value : { [name]: value };
  } catch {
    return { [name]: text };
  }
}
