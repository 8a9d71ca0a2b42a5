/** Encodes canonical blocks as parts of a content. What this protocol cannot express is reported as lost. */
import type {
  Block,
  Opaque,
  ToolCall,
  ReasoningBlock,
  TextBlock,
  ToolResult,
  MediaBlock,
} from '../../../core/index.ts';
import { loseForeign, loseSeal, loseThoughts } from '../../shared/wire-kit/losses.ts';
import { takeContext } from '../../shared/wire-kit/media.ts';
import { parseArguments } from '../../shared/wire-kit/tool-arguments.ts';
import { overlay, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName } from './bag.ts';
import type { Encoding } from './encoding.ts';
import { writeMedia } from './media.ts';
import { isNative } from './signature.ts';
import { fitName, isMadeId } from './tool-names.ts';

export const noCacheMarks = 'Gemini caches without marks';

/** Encodes the signature of a part. State that another vendor sealed is reported as lost. */
function encodeSignature(
  { opaque = [] }: { opaque?: Opaque[] | undefined },
  path: string,
  { native, lose }: Encoding,
): string | undefined {
  const kept = native ? opaque.filter(isNative) : [];
  if (kept.length < opaque.length) loseSeal(path, lose);
  return kept[0]?.value;
}

/** Encodes any block except a tool result. A named file becomes a text with its name, and the file. */
export function encodeBlock(block: Exclude<Block, ToolResult>, path: string, encoding: Encoding): Fields[] {
  const { lose } = encoding;
  if (block.cache) lose(`${path}.cache`, noCacheMarks);
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
      if (block.protocol === protocolName) return [block.value];
      loseForeign(block, path, lose);
      return [];
  }
}

function encodeText(block: TextBlock, path: string, encoding: Encoding): Fields[] {
  const signature = encodeSignature(block, path, encoding);
  if (block.text === '' && signature === undefined) return [];
  return [overlay(bag.getFields(block), { text: block.text, thoughtSignature: signature })];
}

/** Sends reasoning only to the vendor that sealed it, and never as unsealed text. */
function encodeReasoning(block: ReasoningBlock, path: string, { native, inPlace, lose }: Encoding): Fields[] {
  const { opaque = [], text } = block;
  const isGoogles = opaque.every(isNative) && (opaque.length > 0 || inPlace);
  if (!native || !isGoogles) {
    if (text !== '' || opaque.length > 0) loseThoughts(path, lose);
    return [];
  }
  return [overlay(bag.getFields(block), { text, thought: true, thoughtSignature: opaque[0]?.value })];
}

const details: ReadonlySet<string> = new Set(['low', 'medium', 'high', 'ultra_high']);

function encodeResolution(
  { detail }: MediaBlock,
  path: string,
  { modern, lose }: Encoding,
): Fields | undefined {
  if (detail === undefined || detail === 'auto') return undefined;
  if (modern && details.has(detail)) return { level: `MEDIA_RESOLUTION_${detail.toUpperCase()}` };
  lose(`${path}.detail`, 'the model has no such resolution', 'model');
  return undefined;
}

function encodeMedia(block: MediaBlock, path: string, encoding: Encoding): Fields[] {
  const { title, filename, source } = block;
  const part = writeMedia(block, path);
  const whole = overlay(bag.getFields(block), {
    ...part,
    mediaResolution: encodeResolution(block, path, encoding),
    thoughtSignature: encodeSignature(block, path, encoding),
  });
  const context = takeContext(block, path, encoding.lose);
  const before = context === undefined ? [] : [{ text: context }];
  if (source.type === 'text') return [...before, whole];
  const name = title ?? filename;
  return name === undefined ? [...before, whole] : [...before, { text: `${name}:` }, whole];
}

function encodeCall(block: ToolCall, path: string, encoding: Encoding): Fields {
  const { name, arguments: text, custom, namespace } = block;
  // Arguments that are not a JSON object are sent as text: that is better than losing them.
  const object = custom ? { input: text } : parseArguments(text);
  if (!object)
    encoding.lose(`${path}.arguments`, 'not a JSON object; sent as text in "_raw"', 'approximated');
  if (namespace !== undefined)
    encoding.lose(`${path}.namespace`, 'generate-content has no namespaces for tools');
  const call = {
    id: fitCallId(block.id, encoding),
    name: encoding.inPlace ? name : fitName(name),
    args: object ?? { _raw: text },
  };
  return overlay(bag.getFields(block), {
    functionCall: call,
    thoughtSignature: encodeSignature(block, path, encoding),
  });
}

/** In a client's own body a call that had no id has none, and so has its result. */
function fitCallId(id: string, { inPlace }: Encoding): string | undefined {
  return inPlace && isMadeId(id) ? undefined : id;
}

interface EncodedResult {
  readonly part: Fields;
  /** Parts that follow all results: for each file a text with its title, then the file. */
  readonly files: Fields[];
}

/** `name` is the function that was called, `filesBefore` the number of files in earlier results. */
export function encodeResult(
  block: ToolResult,
  path: string,
  encoding: Encoding,
  { name, filesBefore }: { readonly name: string; readonly filesBefore: number },
): EncodedResult {
  const { inPlace, modern, lose } = encoding;
  if (block.cache) lose(`${path}.cache`, noCacheMarks);
  const texts: string[] = [];
  const parts: Fields[] = [];
  const files: Fields[] = [];
  for (const [index, content] of block.content.entries()) {
    const place = `${path}.content[${index}]`;
    if (content.type === 'text') {
      if (content.cache) lose(`${place}.cache`, noCacheMarks);
      texts.push(content.text);
      continue;
    }
    if (content.type === 'foreign') {
      for (const part of encodeBlock(content, place, encoding)) parts.push(part);
      continue;
    }
    const fitsInside = modern && content.kind !== 'audio' && content.kind !== 'video';
    const medium = fitsInside ? loseDetail(content, place, lose) : content;
    for (const file of encodeBlock(medium, place, encoding)) {
      if (typeof file.text === 'string') texts.push(file.text);
      else if (fitsInside) parts.push(file);
      else {
        const title = `file ${filesBefore + files.length / 2 + 1}`;
        texts.push(`See ${title}.`);
        files.push({ text: `This is ${title}:` }, file);
      }
    }
  }
  const result = {
    id: fitCallId(block.callId, encoding),
    name: inPlace ? name : fitName(name),
    response: encodeResponse(texts, block),
    parts: parts.length > 0 ? parts : undefined,
  };
  return { part: overlay(bag.getFields(block), { functionResponse: result }), files };
}

/** Google refuses a resolution inside a function's result. */
function loseDetail({ detail, ...rest }: MediaBlock, path: string, lose: Encoding['lose']): MediaBlock {
  if (detail !== undefined && detail !== 'auto')
    lose(`${path}.detail`, 'a file in the result of a function has no resolution');
  return rest;
}

/**
 * Puts a tool's text into one of the two fields that Google documents. Another client's text never becomes
 * the object itself: Google would read a `$ref` in it as a reference to a declared function.
 */
export function encodeResponse(texts: readonly string[], block: Pick<ToolResult, 'isError'>): Fields {
  return { [block.isError ? 'error' : 'output']: texts.join('\n\n') };
}
