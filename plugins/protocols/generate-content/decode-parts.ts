/**
 * Decodes each part of a content to one canonical block. Code that the model ran and parts of unknown kinds
 * are kept unchanged.
 */
import type { Block, Opaque, ToolResult, MediaBlock } from '../../../core/index.ts';
import { readMember } from '../../shared/wire-kit/values.ts';
import { isObject, pickUnread, nestFields, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName } from './bag.ts';
import type { CallPairs } from './call-pairs.ts';
import { readBlob, readFile, type ReadMedia } from './media.ts';
import { readSignature } from './signature.ts';
import * as Wire from './wire.ts';

type ResultContent = ToolResult['content'][number];

interface Place {
  readonly at: string;
  readonly content: number;
  readonly calls: CallPairs;
  /** The part with the exact digits that the client wrote, if JavaScript would change them. */
  readonly exact?: Fields | undefined;
}

function readSeal(part: Wire.Part): { opaque?: Opaque[] } {
  const opaque = readSignature(part.thoughtSignature);
  return opaque ? { opaque: [opaque] } : {};
}

export function decodePart(part: Wire.Part, place: Place): Block {
  if (part.functionCall) return decodeCall(part, part.functionCall, place);
  if (part.functionResponse) return decodeResult(part, part.functionResponse, place);
  if (part.inlineData) return decodeMedia(part, readBlob(part.inlineData), 'inlineData', place.at);
  if (part.fileData) return decodeMedia(part, readFile(part.fileData), 'fileData', place.at);
  const hasText = typeof part.text === 'string';
  const foreign =
    !hasText &&
    Object.entries(part).some(
      ([name, value]) => value !== null && value !== undefined && !Wire.partAsides.has(name),
    );
  return foreign
    ? { type: 'foreign', protocol: protocolName, value: part, at: place.at }
    : decodeText(part, place.at);
}

/** A part without content is an empty text: some streams end with one that holds the last signature. */
function decodeText(part: Wire.Part, at: string): Block {
  const thought = part.thought === true;
  const rest = pickUnread(part, ['thoughtSignature', 'text', ...(thought ? ['thought'] : [])]);
  const type = thought ? 'reasoning' : 'text';
  return { type, text: part.text ?? '', ...readSeal(part), at, ...bag.keep(rest) };
}

/** Returns `low` for `MEDIA_RESOLUTION_LOW`. */
function readDetail({ mediaResolution }: Wire.Part): string | undefined {
  const level = /^MEDIA_RESOLUTION_([A-Z_]+)$/.exec(mediaResolution?.level ?? '')?.[1];
  return level === undefined || level === 'UNSPECIFIED' ? undefined : level.toLowerCase();
}

function decodeMedia(part: Wire.Part, { block, rest }: ReadMedia, name: string, at: string): MediaBlock {
  const detail = readDetail(part);
  const resolution =
    detail === undefined
      ? {}
      : nestFields('mediaResolution', pickUnread(part.mediaResolution ?? {}, ['level']));
  const known = [name, 'thoughtSignature', ...(detail === undefined ? [] : ['mediaResolution'])];
  return {
    ...block,
    ...(detail === undefined ? {} : { detail }),
    ...readSeal(part),
    at,
    ...bag.keep({ ...pickUnread(part, known), ...rest, ...resolution }),
  };
}

function decodeCall(part: Wire.Part, call: Wire.Call, { at, content, calls, exact = part }: Place): Block {
  const id = calls.addCall(call.name, call.id || undefined, content);
  const rest = {
    ...pickUnread(part, ['functionCall', 'thoughtSignature']),
    ...nestFields('functionCall', pickUnread(call, ['id', 'name', 'args'])),
  };
  return {
    type: 'tool-call',
    id,
    name: call.name,
    arguments: call.args ? JSON.stringify(readMember(exact.functionCall, 'args')) : '{}',
    ...readSeal(part),
    at,
    ...bag.keep(rest),
  };
}

/** Decodes the files of a result. Other parts are kept unchanged. */
function decodeFiles(files: NonNullable<Wire.Result['parts']>, at: string): ResultContent[] {
  return files.map((file, index) => {
    const place = `${at}[${index}]`;
    const { inlineData: blob, fileData } = file;
    const read = (blob && readBlob(blob)) ?? (fileData && readFile(fileData));
    if (!read) return { type: 'foreign', protocol: protocolName, value: file, at: place };
    const kept = bag.keep({ ...pickUnread(file, ['inlineData', 'fileData']), ...read.rest });
    return { ...read.block, at: place, ...kept };
  });
}

function decodeResult(part: Wire.Part, result: Wire.Result, { at, calls, exact = part }: Place): ToolResult {
  const { text, isError } = readResponse(readMember(exact.functionResponse, 'response'));
  const callId = calls.matchResult(result.name, result.id || undefined);
  const media = decodeFiles(result.parts ?? [], `${at}.functionResponse.parts`);
  const texts: ResultContent[] =
    text === undefined ? [] : [{ type: 'text', text, at: `${at}.functionResponse.response` }];
  const inside = pickUnread(result, ['id', 'name', 'response', ...(media.length > 0 ? ['parts'] : [])]);
  const rest = { ...pickUnread(part, ['functionResponse']), ...nestFields('functionResponse', inside) };
  return {
    type: 'tool-result',
    callId,
    name: result.name,
    content: [...texts, ...media],
    ...(isError ? { isError } : {}),
    at,
    ...bag.keep(rest),
  };
}

interface ReadResponse {
  readonly text: string | undefined;
  readonly isError: boolean;
}

/** Google documents two fields of a response, `output` and `error`. Any other object is the output itself. */
function readResponse(response: unknown): ReadResponse {
  if (!isObject(response)) return { text: undefined, isError: false };
  const [only, ...others] = Object.keys(response);
  if (others.length > 0 || (only !== 'output' && only !== 'error'))
    return { text: JSON.stringify(response), isError: false };
  const value = response[only];
  const isError = only === 'error';
  return { text: typeof value === 'string' ? value : JSON.stringify(value), isError };
}
