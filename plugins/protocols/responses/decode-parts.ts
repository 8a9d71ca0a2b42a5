/** The parts of a message's content, or of a tool's result, as canonical blocks. */
import type { Block } from '../../../core/index.ts';
import { documentType, isUrl, readDataUrl } from '../../shared/wire-kit/media.ts';
import { markUnknown } from '../../shared/wire-kit/open-values.ts';
import { leftover, nested, type Fields, type Sides } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, nativeVendor, protocolName } from './bag.ts';
import { isKnownPart, type WireContent, type WirePart } from './wire.ts';

export type TextBlock = Extract<Block, { type: 'text' }>;
export type MediaBlock = Extract<Block, { type: 'media' }>;
export type RefusalBlock = Extract<Block, { type: 'refusal' }>;
export type SpokenBlock = TextBlock | MediaBlock | RefusalBlock;
/** A part of a kind that is not known here. */
export type ForeignPart = Extract<Block, { type: 'foreign' }> & { form: Record<string, string[]> };

/** The kind of a text part that goes without saying. */
export function textTypeFor(role: string): 'input_text' | 'output_text' {
  return role === 'assistant' ? 'output_text' : 'input_text';
}

/** How a thing is kept that stood among the parts of a message. */
export const partFlag = 'part';

/** What a user says is worthless to other vendors without it. */
function foreignPart(value: Fields, at: string, role: string): ForeignPart {
  const words = role === 'assistant' ? [] : bag.form(markUnknown(protocolName));
  return {
    type: 'foreign',
    protocol: protocolName,
    value,
    at,
    form: { [protocolName]: [...words, partFlag] },
  };
}

/** Passed where the content stands, and whose it is. */
export function decodeContent(content: WireContent, at: string, role: string): (SpokenBlock | ForeignPart)[] {
  if (typeof content === 'string') return [{ type: 'text', text: content, at }];
  return content.map((part, index) => {
    const place = `${at}[${index}]`;
    return isKnownPart(part) ? { ...decodePart(part, role), at: place } : foreignPart(part, place, role);
  });
}

function decodePart(part: WirePart, role: string): SpokenBlock {
  switch (part.type) {
    case 'input_text':
      return decodeInputText(part, role);
    case 'output_text':
      return decodeOutputText(part, role);
    case 'refusal':
      return { type: 'refusal', text: part.refusal, ...bag.keep(rest(part, ['refusal'])) };
    case 'input_image':
      return { ...decodeImage(part), ...decodeCache(part) };
    case 'input_file':
      return { ...decodeFile(part), ...decodeCache(part) };
    case 'input_audio': {
      const { data, format } = part.input_audio;
      const inner = nested('input_audio', leftover(part.input_audio, new Set(['data', 'format'])));
      const sides = bag.keep({ ...rest(part, ['input_audio']), ...readCacheLeftover(part), ...inner });
      return {
        type: 'media',
        kind: 'audio',
        source: { type: 'base64', data },
        mediaType: audioTypes.get(format) ?? `audio/${format}`,
        ...decodeCache(part),
        ...sides,
      };
    }
  }
}

const audioTypes: ReadonlyMap<string, string> = new Map([['mp3', 'audio/mpeg']]);

function rest(part: object, known: readonly string[]): Fields {
  return leftover(part, new Set(['type', 'prompt_cache_breakpoint', ...known]));
}

function kindForm(kind: string, role: string): string[] {
  return kind === textTypeFor(role) ? [] : [`kind=${kind}`];
}

const textFields = new Set(['type', 'prompt_cache_breakpoint', 'text']);

function decodeInputText(part: Extract<WirePart, { type: 'input_text' }>, role: string): TextBlock {
  const left = leftover(part, textFields);
  if (!part.prompt_cache_breakpoint)
    return { type: 'text', text: part.text, ...bag.keep(left, kindForm(part.type, role)) };
  return {
    type: 'text',
    text: part.text,
    ...decodeCache(part),
    ...bag.keep({ ...left, ...readCacheLeftover(part) }, kindForm(part.type, role)),
  };
}

/** Replies come back with empty lists beside their text, whose loss would be no news to anybody. */
function decodeOutputText(part: Extract<WirePart, { type: 'output_text' }>, role: string): TextBlock {
  const empty = (['annotations', 'logprobs'] as const).filter((name) => part[name]?.length === 0);
  return {
    type: 'text',
    text: part.text,
    ...bag.keep(rest(part, ['text', ...empty]), [...kindForm(part.type, role), ...empty]),
  };
}

type ImagePart = Extract<WirePart, { type: 'input_image' }>;
type FilePart = Extract<WirePart, { type: 'input_file' }>;

function decodeImage(part: ImagePart): MediaBlock {
  const { image_url: url, file_id: id } = part;
  const detail = part.detail ?? undefined;
  const keep = (known: string, form: readonly string[] = []): Sides =>
    bag.keep({ ...rest(part, [known, 'detail']), ...readCacheLeftover(part) }, form);
  if (!url)
    return {
      type: 'media',
      kind: 'image',
      source: { type: 'file', vendor: nativeVendor, id: id ?? '' },
      detail,
      ...keep('file_id'),
    };
  return { type: 'media', kind: 'image', ...readSource(url), detail, ...keep('image_url', prefixForm(url)) };
}

function readSource(url: string): Pick<MediaBlock, 'source' | 'mediaType'> {
  const read = readDataUrl(url);
  return read
    ? { source: { type: 'base64', data: read.data }, mediaType: read.mediaType || undefined }
    : { source: { type: 'url', url } };
}

function prefixForm(url: string): string[] {
  const prefix = readDataUrl(url)?.prefix;
  return prefix === undefined ? [] : [`prefix=${prefix}`];
}

function decodeFile(part: FilePart): MediaBlock {
  const { file_data: data, file_url: url, file_id: id } = part;
  const filename = part.filename ?? undefined;
  const keep = (known: string, form: readonly string[] = []): Sides =>
    bag.keep({ ...rest(part, [known, 'filename']), ...readCacheLeftover(part) }, form);
  if (data && isUrl(data))
    return {
      type: 'media',
      kind: 'document',
      ...readSource(data),
      filename,
      ...keep('file_data', ['data', ...prefixForm(data)]),
    };
  if (data)
    return {
      type: 'media',
      kind: 'document',
      source: { type: 'base64', data },
      mediaType: documentType(data),
      filename,
      ...keep('file_data', ['data', 'bare']),
    };
  if (url)
    return {
      type: 'media',
      kind: 'document',
      ...readSource(url),
      filename,
      ...keep('file_url', prefixForm(url)),
    };
  return {
    type: 'media',
    kind: 'document',
    source: { type: 'file', vendor: nativeVendor, id: id ?? '' },
    filename,
    ...keep('file_id'),
  };
}

type Marked = {
  prompt_cache_breakpoint?: Extract<WirePart, { type: 'input_text' }>['prompt_cache_breakpoint'];
};

const cacheTimes = ['5m', '30m', '1h'] as const;

function cacheTime(ttl: unknown): (typeof cacheTimes)[number] | undefined {
  return cacheTimes.find((time) => time === ttl);
}

function isExplicit({ mode }: { readonly mode?: unknown }): boolean {
  return mode === 'explicit';
}

function decodeCache({ prompt_cache_breakpoint: mark }: Marked): Pick<MediaBlock, 'cache'> {
  return mark && isExplicit(mark) ? { cache: { ttl: cacheTime(mark.ttl) } } : {};
}

/** Of a cache mark, what the canonical one does not say; that there is a mark goes without saying. */
function readCacheLeftover({ prompt_cache_breakpoint: mark }: Marked): Fields {
  if (mark && !isExplicit(mark)) return { prompt_cache_breakpoint: mark };
  return mark
    ? nested(
        'prompt_cache_breakpoint',
        leftover(mark, new Set(cacheTime(mark.ttl) ? ['mode', 'ttl'] : ['mode'])),
      )
    : {};
}
