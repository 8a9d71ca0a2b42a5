/**
 * The parts of a content in both directions: each is one canonical block. Code that the model ran and parts
 * of unknown kinds are kept unchanged. What this protocol cannot express is reported as lost.
 */
import type {
  Block,
  BlockOf,
  MediaBlock,
  Opaque,
  TextBlock,
  ToolCall,
  ToolResult,
} from '../../../core/index.ts';
import {
  encodeForeign,
  loseSeal,
  loseThoughts,
  refuseFile,
  refusePart,
} from '../../shared/wire-kit/losses.ts';
import { detectBase64PictureType, nameText, takeContext } from '../../shared/wire-kit/media.ts';
import { encodeArguments } from '../../shared/wire-kit/tool-arguments.ts';
import { readMember } from '../../shared/wire-kit/values.ts';
import {
  isObject,
  overlay,
  trackReads,
  type Fields,
  type Sides,
  type Tracked,
} from '../../shared/wire-kit/vendor-bag.ts';
import {
  bag,
  convertBase64,
  fitName,
  isMadeId,
  isNative,
  makeCallId,
  protocolName,
  readSignature,
  vendorName,
  type Encoding,
} from './encoding.ts';
import * as Wire from './wire.ts';

type ResultContent = ToolResult['content'][number];

interface OpenCall {
  readonly id: string;
  /** Its queues. */
  readonly keys: readonly string[];
}

/**
 * Pairs results with calls. Most of Google's own calls have no id, and a result belongs to the first open
 * call of its name. Other protocols pair by id only, so every call gets an id here. The open calls are in
 * queues by id and by name, because a search through one list would take quadratic time.
 */
export class CallPairs {
  readonly #queues = new Map<string, Set<OpenCall>>();
  #count = 0;

  /** Adds a call of the content with this index. Returns its id, or a new one if it has none. */
  addCall(name: string, given: string | undefined, content: number): string {
    const id = given ?? makeCallId(content, this.#count, name);
    this.#count += 1;
    // A call whose id the gateway made can match a result with any id, by its name.
    const keys = [`id ${id}`, `name ${name}`, ...(given === undefined ? [`made ${name}`] : [])];
    const call = { id, keys };
    for (const key of keys) {
      const queue = this.#queues.get(key);
      if (queue) queue.add(call);
      else this.#queues.set(key, new Set([call]));
    }
    return id;
  }

  /** Returns the id of the call that a result belongs to. */
  matchResult(name: string, id: string | undefined): string {
    const keys = id === undefined ? [`name ${name}`] : [`id ${id}`, `made ${name}`];
    const [call] = keys.flatMap((key) => this.#queues.get(key)?.values().next().value ?? []);
    if (!call) return id ?? makeCallId(name);
    for (const key of call.keys) this.#queues.get(key)?.delete(call);
    return call.id;
  }
}

interface Place {
  readonly at: string;
  readonly content: number;
  readonly calls: CallPairs;
  /** The part with the exact digits that the client wrote, if JavaScript would change them. */
  readonly exact?: Fields | undefined;
}

type Part = Tracked<Wire.Part>;

/** The fields of a part that were not read. */
function keepRest(part: Part): Sides {
  return bag.keep(part.pickRest());
}

export function decodePart(wire: Wire.Part, place: Place): Block {
  const { at } = place;
  const part = trackReads(wire);
  const { seen } = part;
  // A signature of a result has no meaning, and stays with the other fields.
  const result = decodeResult(part, place);
  if (result) return { ...result, ...keepRest(part) };
  const signature = readSignature(seen.thoughtSignature);
  const seal = signature ? { opaque: [signature] } : {};
  const call = decodeCall(part, place);
  if (call) return { ...call, ...seal, ...keepRest(part) };
  const media = readMedia(part);
  if (media) return { ...media, detail: readDetail(part), at, ...seal, ...keepRest(part) };
  if (typeof seen.text !== 'string' && Wire.hasContent(wire))
    return { type: 'foreign', protocol: protocolName, value: wire, at };
  // Only a flag that is set is read: `false` stays with the other fields.
  const type = wire.thought && seen.thought ? 'reasoning' : 'text';
  // A part without content is an empty text: some streams end with one that holds the last signature.
  return { type, text: seen.text ?? '', at, ...seal, ...keepRest(part) };
}

function encodeText(block: TextBlock, path: string, encoding: Encoding): Fields[] {
  const signature = encodeSignature(block, path, encoding);
  if (block.text === '' && signature === undefined) return [];
  return [overlay(bag.getFields(block), { text: block.text, thoughtSignature: signature })];
}

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

/** Sends reasoning only to the vendor that sealed it, and never as unsealed text. */
function encodeReasoning(
  block: BlockOf<'reasoning'>,
  path: string,
  { native, inPlace, lose }: Encoding,
): Fields[] {
  const { opaque = [], text } = block;
  const isGoogles = opaque.every(isNative) && (opaque.length > 0 || inPlace);
  if (!native || !isGoogles) {
    if (text !== '' || opaque.length > 0) loseThoughts(path, lose);
    return [];
  }
  return [overlay(bag.getFields(block), { text, thought: true, thoughtSignature: opaque[0]?.value })];
}

const byExtension: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  heic: 'image/heic',
  wav: 'audio/wav',
  mp3: 'audio/mpeg',
  flac: 'audio/flac',
  ogg: 'audio/ogg',
  m4a: 'audio/mp4',
  mp4: 'video/mp4',
  mov: 'video/quicktime',
  webm: 'video/webm',
  pdf: 'application/pdf',
  txt: 'text/plain',
  csv: 'text/csv',
  html: 'text/html',
  md: 'text/markdown',
};

/** Google accepts these URLs without a media type. */
const videoPage = /^https?:\/\/((www\.|m\.)?youtube\.com|youtu\.be)\//i;
/** Files stored at Google. Other vendors cannot read them. */
const keptFile = /^(https:\/\/generativelanguage\.googleapis\.com\/|gs:\/\/|files\/)/i;

export function guessMediaType(url: string): string | undefined {
  const extension = /\.([a-z0-9]{2,5})(?:[?#]|$)/i.exec(url)?.[1];
  return extension === undefined ? undefined : byExtension[extension.toLowerCase()];
}

function readKind(mediaType: string | undefined, url: string): MediaBlock['kind'] {
  const type = mediaType ?? guessMediaType(url) ?? '';
  const kind = (['image', 'audio', 'video'] as const).find((each) =>
    type.toLowerCase().startsWith(`${each}/`),
  );
  return kind ?? (videoPage.test(url) ? 'video' : 'document');
}

function readMedia(part: Tracked<Wire.ResultPart>): MediaBlock | undefined {
  const blob = part.open('inlineData');
  if (blob) {
    const { data, mimeType, displayName } = blob.seen;
    return buildMedia({ type: 'base64', data: convertBase64(data) }, mimeType, displayName);
  }
  const file = part.open('fileData');
  if (!file) return undefined;
  const { fileUri: url, mimeType, displayName } = file.seen;
  const source = keptFile.test(url)
    ? ({ type: 'file', vendor: vendorName, id: url } as const)
    : ({ type: 'url', url } as const);
  return buildMedia(source, mimeType, displayName, url);
}

function buildMedia(
  source: MediaBlock['source'],
  mimeType: string | null | undefined,
  displayName: string | null | undefined,
  url = '',
): MediaBlock {
  const mediaType = mimeType ?? undefined;
  const kind = readKind(mediaType, url);
  return { type: 'media', kind, source, mediaType, filename: displayName ?? undefined };
}

/** Reads `low` from `MEDIA_RESOLUTION_LOW`. Any other level stays with the other fields. */
function readDetail(part: Part): string | undefined {
  const { level } = part.open('mediaResolution')?.seen ?? {};
  const name = /^MEDIA_RESOLUTION_([A-Z_]+)$/.exec(level ?? '')?.[1];
  if (name !== undefined && name !== 'UNSPECIFIED') return name.toLowerCase();
  part.keep('mediaResolution');
  return undefined;
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

/** Writes the part that holds a medium. */
function writeMedia(block: MediaBlock, path: string): Fields {
  const { source, mediaType, title, filename = title } = block;
  if (source.type === 'text') return { text: nameText(source.text, filename) };
  if (source.type === 'base64') {
    const mimeType = block.kind !== 'image' ? mediaType : (detectBase64PictureType(source.data) ?? mediaType);
    if (mimeType !== undefined) return { inlineData: { mimeType, data: source.data } };
    return refusePart(
      block,
      path,
      'The provider of this model requires a media type: send the file as a data URL that names one.',
    );
  }
  if (source.type === 'url') {
    if (/^data:/i.test(source.url)) return refusePart(block, path, 'A data URL must hold base64.');
    return { fileData: { mimeType: mediaType ?? guessMediaType(source.url), fileUri: source.url } };
  }
  if (source.vendor === vendorName) return { fileData: { mimeType: mediaType, fileUri: source.id } };
  return refuseFile(block, path, source.vendor);
}

/** A named file becomes a text with its name, and the file. */
function encodeMedia(block: MediaBlock, path: string, encoding: Encoding): Fields[] {
  const { title, filename, source } = block;
  const part = overlay(bag.getFields(block), {
    ...writeMedia(block, path),
    mediaResolution: encodeResolution(block, path, encoding),
    thoughtSignature: encodeSignature(block, path, encoding),
  });
  const context = takeContext(block, path, encoding.lose);
  const before = context === undefined ? [] : [{ text: context }];
  const name = source.type === 'text' ? undefined : (title ?? filename);
  return [...before, ...(name === undefined ? [] : [{ text: `${name}:` }]), part];
}

function decodeCall(part: Part, { at, content, calls, exact }: Place): ToolCall | undefined {
  const call = part.open('functionCall');
  if (!call) return undefined;
  const { id, name, args } = call.seen;
  const written = exact ? readMember(exact.functionCall, 'args') : args;
  return {
    type: 'tool-call',
    id: calls.addCall(name, id || undefined, content),
    name,
    arguments: args ? JSON.stringify(written) : '{}',
    at,
  };
}

function encodeCall(block: ToolCall, path: string, encoding: Encoding): Fields {
  const { name } = block;
  const call = {
    id: fitCallId(block.id, encoding),
    name: encoding.inPlace ? name : fitName(name),
    args: encodeArguments(block, path, protocolName, encoding.lose),
  };
  const thoughtSignature = encodeSignature(block, path, encoding);
  return overlay(bag.getFields(block), { functionCall: call, thoughtSignature });
}

/** In a client's own body a call that had no id has none, and so has its result. */
function fitCallId(id: string, { inPlace }: Encoding): string | undefined {
  return inPlace && isMadeId(id) ? undefined : id;
}

/** Decodes a file of a result. Any other part is kept unchanged. */
function decodeResultPart(wire: Wire.ResultPart, at: string): ResultContent {
  const part = trackReads(wire);
  const media = readMedia(part);
  if (!media) return { type: 'foreign', protocol: protocolName, value: wire, at };
  return { ...media, at, ...bag.keep(part.pickRest()) };
}

function decodeResult(part: Part, { at, calls, exact }: Place): ToolResult | undefined {
  const result = part.open('functionResponse');
  if (!result) return undefined;
  const { id, name, response, parts } = result.seen;
  const { text, isError } = readResponse(exact ? readMember(exact.functionResponse, 'response') : response);
  const content: ResultContent[] =
    text === undefined ? [] : [{ type: 'text', text, at: `${at}.functionResponse.response` }];
  for (const [index, each] of parts?.entries() ?? [])
    content.push(decodeResultPart(each, `${at}.functionResponse.parts[${index}]`));
  return {
    type: 'tool-result',
    callId: calls.matchResult(name, id || undefined),
    name,
    content,
    ...(isError ? { isError } : {}),
    at,
  };
}

/** Google documents two fields of a response, `output` and `error`. Any other object is the output itself. */
function readResponse(response: unknown): { readonly text?: string; readonly isError?: boolean } {
  if (!isObject(response)) return {};
  const [only, ...others] = Object.keys(response);
  if (others.length > 0 || (only !== 'output' && only !== 'error')) return { text: JSON.stringify(response) };
  const value = response[only];
  return { text: typeof value === 'string' ? value : JSON.stringify(value), isError: only === 'error' };
}

/**
 * Puts a tool's text into one of the two fields that Google documents. Another client's text never becomes
 * the object itself: Google would read a `$ref` in it as a reference to a declared function.
 */
export function encodeResponse(texts: readonly string[], block: Pick<ToolResult, 'isError'>): Fields {
  return { [block.isError ? 'error' : 'output']: texts.join('\n\n') };
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
  loseMark(block, path, encoding);
  const texts: string[] = [];
  const parts: Fields[] = [];
  const files: Fields[] = [];
  for (const [index, content] of block.content.entries()) {
    const place = `${path}.content[${index}]`;
    if (content.type === 'text') {
      loseMark(content, place, encoding);
      texts.push(content.text);
      continue;
    }
    const fitsInside =
      content.type === 'foreign' || (encoding.modern && content.kind !== 'audio' && content.kind !== 'video');
    const shown = fitsInside && content.type === 'media' ? loseDetail(content, place, encoding) : content;
    for (const file of encodeBlock(shown, place, encoding)) {
      if (content.type === 'media' && typeof file.text === 'string') texts.push(file.text);
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
    name: encoding.inPlace ? name : fitName(name),
    response: encodeResponse(texts, block),
    parts: parts.length > 0 ? parts : undefined,
  };
  return { part: overlay(bag.getFields(block), { functionResponse: result }), files };
}

/** Google refuses a resolution inside a function's result. */
function loseDetail({ detail, ...rest }: MediaBlock, path: string, { lose }: Encoding): MediaBlock {
  if (detail !== undefined && detail !== 'auto')
    lose(`${path}.detail`, 'a file in the result of a function has no resolution');
  return rest;
}

export function loseMark({ cache }: Pick<TextBlock, 'cache'>, path: string, { lose }: Encoding): void {
  if (cache) lose(`${path}.cache`, 'Gemini caches without marks');
}

/** Encodes any block except a tool result. */
export function encodeBlock(block: Exclude<Block, ToolResult>, path: string, encoding: Encoding): Fields[] {
  loseMark(block, path, encoding);
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
      return encodeForeign(block, path, protocolName, encoding.lose);
  }
}
