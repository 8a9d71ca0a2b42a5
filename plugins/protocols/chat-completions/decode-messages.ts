/** Messages to canonical turns, one for one. The blocks of a turn stand in the order a reader would meet them. */
import type { Block, Opaque, Turn } from '../../../core/index.ts';
import { unseal } from '../../shared/wire-kit/envelope.ts';
import { documentType, isUrl } from '../../shared/wire-kit/media.ts';
import { markUnknown } from '../../shared/wire-kit/open-values.ts';
import { isObject, leftover, nested, type Fields, type Sides } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName } from './bag.ts';
import { readForeignMarks } from './foreign-marks.ts';
import { audioType, readUrl, shortForm, soundTypeOf, type MediaBlock } from './media.ts';
import { readReasoning, thinkingForm } from './reasoning.ts';
import { isKnownCall, isKnownMessage, isKnownPart } from './wire.ts';
import type {
  WireAnyMessage,
  WireAssistantMessage,
  WireContent,
  WireMessage,
  WirePart,
  WireToolCall,
} from './wire.ts';

const cacheTimes = ['5m', '30m', '1h'] as const;
/** How a message is kept whole whose role is not known here. */
export const wholeMessage = 'message';
/** How a call is kept that is of a kind not known here. */
export const wholeCall = 'call';
/** The vendor whose file ids this wire speaks of. */
export const fileVendor = 'openai';

export function decodeMessages(messages: readonly WireAnyMessage[]): Turn[] {
  /** Ids made up for calls of the former kind, which have none; by the function's name, the latest. */
  const formerCalls = new Map<string, string>();
  /** What the calls are named, by their ids. */
  const called = new Map<string, string>();
  return messages.map((message, index) => {
    if (!isKnownMessage(message)) return decodeStrange(message, `messages[${index}]`);
    for (const call of (message.role === 'assistant' && message.tool_calls) || [])
      if (isKnownCall(call)) called.set(call.id, nameOf(call));
    if (message.role === 'assistant' && message.function_call)
      formerCalls.set(message.function_call.name, `call_${index}`);
    const turn = { ...decodeMessage(message, index, formerCalls, called), at: `messages[${index}]` };
    readForeignMarks(turn);
    return turn;
  });
}

function nameOf(call: WireToolCall): string {
  return call.type === 'custom' ? call.custom.name : call.function.name;
}

/** A thing that only some vendors of this wire know. What a user says is worthless to others without it. */
function foreign(value: Fields, at: string, spoken: boolean): Block {
  return { type: 'foreign', protocol: protocolName, value, at, ...(spoken ? markUnknown(protocolName) : {}) };
}

function decodeStrange(message: Fields, at: string): Turn {
  return {
    role: 'user',
    blocks: [foreign(message, `${at}.role`, true)],
    at,
    ...bag.keep({}, [wholeMessage]),
  };
}

const contentFields = new Set(['role', 'content', 'name']);
const toolFieldsRead = new Set(['role', 'name', 'tool_call_id']);
const toolFields = new Set([...toolFieldsRead, 'content']);

function decodeMessage(
  message: WireMessage,
  index: number,
  formerCalls: ReadonlyMap<string, string>,
  called: ReadonlyMap<string, string>,
): Turn {
  const at = `messages[${index}]`;
  if (message.role === 'assistant') return decodeAssistant(message, index);
  if (message.role === 'function') {
    const { content, name } = message;
    const callId = formerCalls.get(name) ?? `call_${name}`;
    const result: Block = {
      type: 'tool-result',
      callId,
      name,
      content: content === null ? [] : [{ type: 'text', text: content }],
      at,
    };
    return { role: 'tool', blocks: [result], ...bag.keep(leftover(message, contentFields), ['function']) };
  }
  const content = decodeContent(message.content, `${at}.content`, true);
  const name = message.name ?? undefined;
  if (message.role === 'tool') {
    const parts = content.filter((block) => block.type === 'text' || block.type === 'media');
    // Where there are others, the whole is kept for those who know them.
    const known = parts.length < content.length ? toolFieldsRead : toolFields;
    // Some clients say again what the call was named: no name of a participant, which other wires would have to lose.
    const again = name !== undefined && name === called.get(message.tool_call_id);
    const result: Block = {
      type: 'tool-result',
      callId: message.tool_call_id,
      ...(again ? { name } : {}),
      content: parts,
      at,
    };
    return {
      role: 'tool',
      blocks: [result],
      ...(again ? {} : { name }),
      ...bag.keep(leftover(message, known), formOf(message.content)),
    };
  }
  return {
    role: message.role,
    blocks: content,
    name,
    ...bag.keep(leftover(message, contentFields), formOf(message.content)),
  };
}

const assistantFields = new Set([...contentFields, 'tool_calls', 'function_call', 'refusal', 'images']);
/** How a picture is written that a model made: in a field beside the content. */
export const madePicture = 'made';

function decodeAssistant(message: WireAssistantMessage, index: number): Turn {
  const at = `messages[${index}]`;
  const reasoning = readReasoning(message, at);
  const blocks: Block[] = [
    ...reasoning.blocks,
    ...decodeContent(message.content ?? [], `${at}.content`, false),
  ];
  const sealed = blocks.findLast((block) => block.type === 'text');
  if (sealed && reasoning.text?.length) sealed.opaque = [...reasoning.text];
  for (const [position, image] of message.images?.entries() ?? [])
    blocks.push({ ...decodeMade(image), at: `${at}.images[${position}]` });
  if (typeof message.refusal === 'string')
    blocks.push({ type: 'refusal', text: message.refusal, at: `${at}.refusal`, ...bag.keep({}, ['field']) });
  for (const [position, call] of message.tool_calls?.entries() ?? []) {
    const place = `${at}.tool_calls[${position}]`;
    if (isKnownCall(call)) blocks.push({ ...decodeCall(call), at: place });
    else
      blocks.push({
        ...foreign(call, place, false),
        ...bag.keep({}, [...bag.form(markUnknown(protocolName)), wholeCall]),
      });
  }
  if (message.function_call) {
    const { name, arguments: text } = message.function_call;
    const rest = leftover(message.function_call, new Set(['name', 'arguments']));
    blocks.push({
      type: 'tool-call',
      id: `call_${index}`,
      name,
      arguments: text,
      at: `${at}.function_call`,
      ...bag.keep(rest, ['function']),
    });
  }
  const known = new Set([...assistantFields, ...reasoning.read]);
  const form = 'content' in message ? formOf(message.content) : ['no-content'];
  return {
    role: 'assistant',
    blocks,
    name: message.name ?? undefined,
    ...bag.keep(leftover(message, known), form),
  };
}

function formOf(content: WireContent | null | undefined): string[] {
  return Array.isArray(content) ? ['parts'] : [];
}

/** `spoken`: whether it is content of somebody else than the model. */
function decodeContent(content: WireContent, at: string, spoken: boolean): Block[] {
  if (typeof content === 'string') return [{ type: 'text', text: content, at }];
  return content.map((part, index) => {
    const place = `${at}[${index}]`;
    return isKnownPart(part) ? { ...decodePart(part), at: place } : foreign(part, place, spoken);
  });
}

const textFields = new Set(['type', 'text', 'prompt_cache_breakpoint']);
const refusalFields = new Set(['type', 'refusal']);
const thinkingFields = new Set(['type', 'thinking']);

function decodePart(part: WirePart): Block {
  if (part.type === 'text') {
    return {
      type: 'text',
      text: part.text,
      ...decodeCache(part),
      ...bag.keep({ ...leftover(part, textFields), ...cacheLeft(part) }),
    };
  }
  if (part.type === 'refusal')
    return { type: 'refusal', text: part.refusal, ...bag.keep(leftover(part, refusalFields)) };
  if (part.type === 'thinking') {
    return {
      type: 'reasoning',
      text: part.thinking.map(({ text }) => text ?? '').join(''),
      ...bag.keep(leftover(part, thinkingFields), [thinkingForm]),
    };
  }
  return { ...decodeMedia(part), ...decodeCache(part) };
}

type MediaPart = Exclude<WirePart, { type: 'text' | 'refusal' | 'thinking' }>;

/** What a media part leaves over, outside and inside the object that bears its type's name. */
function keepMedia(
  part: MediaPart,
  name: string,
  inner: object,
  known: readonly string[],
  form: readonly string[],
): Sides {
  const outside = leftover(
    part,
    new Set(['type', 'prompt_cache_breakpoint', name, ...(name === 'document_url' ? ['document_name'] : [])]),
  );
  return bag.keep({ ...outside, ...cacheLeft(part), ...nested(name, leftover(inner, new Set(known))) }, form);
}

type ImagePart = Extract<WirePart, { type: 'image_url' }>;

function decodeImage(part: ImagePart, words: readonly string[] = []): MediaBlock {
  const { image_url: image } = part;
  const { url, detail } = typeof image === 'string' ? { url: image, detail: undefined } : image;
  const { source, mediaType, form } = readUrl(url);
  const inner = typeof image === 'string' ? {} : image;
  const sides = keepMedia(
    part,
    'image_url',
    inner,
    ['url', 'detail'],
    [...form, ...words, ...(typeof image === 'string' ? [shortForm] : [])],
  );
  return { type: 'media', kind: 'image', source, mediaType, detail: detail ?? undefined, ...sides };
}

/** A picture of the model's own, which its vendor may have sealed. */
function decodeMade({ extra_content: extra, ...part }: ImagePart): MediaBlock {
  const { opaque } = readSignatures(extra);
  return { ...decodeImage(part, [madePicture]), ...(opaque.length > 0 ? { opaque } : {}) };
}

/** A sound without its format: bare data, or an address. */
function decodeBareSound(part: MediaPart, sound: string): MediaBlock {
  const bare = {
    source: { type: 'base64' as const, data: sound },
    mediaType: soundTypeOf(sound),
    form: ['bare'],
  };
  const { source, mediaType, form } = isUrl(sound) ? readUrl(sound) : bare;
  return {
    type: 'media',
    kind: 'audio',
    source,
    mediaType,
    ...keepMedia(part, 'input_audio', {}, [], [...form, shortForm]),
  };
}

function decodeVideo(part: Extract<WirePart, { type: 'video_url' }>): MediaBlock {
  const { video_url: video } = part;
  const { source, mediaType, form } = readUrl(typeof video === 'string' ? video : video.url);
  const inner = typeof video === 'string' ? {} : video;
  const sides = keepMedia(
    part,
    'video_url',
    inner,
    ['url'],
    [...form, ...(typeof video === 'string' ? [shortForm] : [])],
  );
  return { type: 'media', kind: 'video', source, mediaType, ...sides };
}

function decodeMedia(part: MediaPart): MediaBlock {
  if (part.type === 'image_url') return decodeImage(part);
  if (part.type === 'input_audio') {
    const { input_audio: sound } = part;
    if (typeof sound === 'string') return decodeBareSound(part, sound);
    const { data, format } = sound;
    const sides = keepMedia(part, 'input_audio', sound, ['data', 'format'], []);
    return {
      type: 'media',
      kind: 'audio',
      source: { type: 'base64', data },
      mediaType: audioType(format),
      ...sides,
    };
  }
  if (part.type === 'video_url') return decodeVideo(part);
  if (part.type === 'document_url') {
    const { source, mediaType, form } = readUrl(part.document_url);
    const sides = keepMedia(
      part,
      'document_url',
      { document_name: part.document_name },
      ['document_name'],
      [...form, shortForm],
    );
    return {
      type: 'media',
      kind: 'document',
      source,
      mediaType,
      filename: part.document_name ?? undefined,
      ...sides,
    };
  }
  const { file_data: data, file_id: id, filename } = part.file;
  const name = filename ?? undefined;
  if (!data) {
    const source = { type: 'file' as const, vendor: fileVendor, id: id ?? '' };
    return {
      type: 'media',
      kind: 'document',
      source,
      filename: name,
      ...keepMedia(part, 'file', part.file, ['file_id', 'filename'], []),
    };
  }
  const { source, mediaType, form } = isUrl(data)
    ? readUrl(data)
    : { source: { type: 'base64' as const, data }, mediaType: documentType(data), form: ['bare'] };
  return {
    type: 'media',
    kind: 'document',
    source,
    mediaType,
    filename: name,
    ...keepMedia(part, 'file', part.file, ['file_data', 'filename'], form),
  };
}

type Breakpoint = Exclude<WirePart, { type: 'refusal' | 'thinking' }>['prompt_cache_breakpoint'];

function cacheTime(ttl: unknown): (typeof cacheTimes)[number] | undefined {
  return cacheTimes.find((time) => time === ttl);
}

function decodeCache({
  prompt_cache_breakpoint: mark,
}: {
  prompt_cache_breakpoint?: Breakpoint;
}): Pick<MediaBlock, 'cache'> {
  return mark && isExplicit(mark) ? { cache: { ttl: cacheTime(mark.ttl) } } : {};
}

function isExplicit({ mode }: NonNullable<Breakpoint>): boolean {
  return mode === 'explicit';
}

/** Of a cache mark, what the canonical one does not say. */
function cacheLeft({ prompt_cache_breakpoint: mark }: { prompt_cache_breakpoint?: Breakpoint }): Fields {
  if (mark && !isExplicit(mark)) return { prompt_cache_breakpoint: mark };
  return mark
    ? nested(
        'prompt_cache_breakpoint',
        leftover(mark, new Set(cacheTime(mark.ttl) ? ['mode', 'ttl'] : ['mode'])),
      )
    : {};
}

/** Google's chat layer hangs its thought signatures on tool calls: `extra_content.google.thought_signature`. */
export function readSignatures(extra: unknown): { opaque: Opaque[]; rest: Fields } {
  if (!isObject(extra)) return { opaque: [], rest: {} };
  const opaque: Opaque[] = [];
  const rest = Object.entries(extra).flatMap(([vendor, fields]) => {
    const value = isObject(fields) ? fields.thought_signature : undefined;
    if (!isObject(fields) || typeof value !== 'string') return [[vendor, fields]];
    opaque.push(unseal(value) ?? { vendor, kind: 'signature', value });
    return Object.entries(nested(vendor, leftover(fields, new Set(['thought_signature']))));
  });
  return { opaque, rest: Object.fromEntries(rest) };
}

function decodeCall(call: WireToolCall): Block {
  const { opaque, rest: extra } = readSignatures(call.extra_content);
  const type = call.type ?? 'function';
  const inner = call.type === 'custom' ? call.custom : call.function;
  const inside = leftover(inner, new Set(call.type === 'custom' ? ['name', 'input'] : ['name', 'arguments']));
  const outside = leftover(call, new Set(['id', 'type', type, 'extra_content']));
  const sides = bag.keep({ ...outside, ...nested(type, inside), ...nested('extra_content', extra) });
  const sealed = opaque.length > 0 ? { opaque } : {};
  const facts =
    call.type === 'custom'
      ? { name: call.custom.name, arguments: call.custom.input, custom: true }
      : { name: call.function.name, arguments: call.function.arguments };
  return { type: 'tool-call', id: call.id, ...facts, ...sealed, ...sides };
}
