/**
 * The parts of a content to canonical blocks, one for one. Code the model ran, and kinds of parts nobody here has
 * heard of, are kept whole.
 */
import type { Block } from '../../../core/index.ts';
import { isObject, leftover, nested, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName } from './bag.ts';
import type { Calls } from './call-pairs.ts';
import { readBlob, readFile, type MediaBlock, type ReadMedia } from './media.ts';
import { readSignature } from './signature.ts';
import { partAsides, type WireCall, type WirePart, type WireResult } from './wire.ts';

type ToolResult = Extract<Block, { type: 'tool-result' }>;
type ResultContent = ToolResult['content'][number];

/** What reading a part needs of the request around it. */
export interface Place {
  readonly at: string;
  /** Which content of the request it stands in. */
  readonly content: number;
  readonly calls: Calls;
  /** The part with all the digits its client wrote, where that may matter. */
  readonly exact?: Fields | undefined;
}

function sealed(part: WirePart): { opaque?: NonNullable<MediaBlock['opaque']>; form: readonly string[] } {
  const { opaque, form } = readSignature(part.thoughtSignature);
  return { ...(opaque.length > 0 ? { opaque: [...opaque] } : {}), form };
}

export function decodePart(part: WirePart, place: Place): Block {
  if (part.functionCall) return decodeCall(part, part.functionCall, place);
  if (part.functionResponse) return decodeResult(part, part.functionResponse, place);
  if (part.inlineData) return decodeMedia(part, readBlob(part.inlineData), 'inlineData', place.at);
  if (part.fileData) return decodeMedia(part, readFile(part.fileData), 'fileData', place.at);
  const saysText = typeof part.text === 'string';
  const foreign =
    !saysText &&
    Object.entries(part).some(
      ([name, value]) => value !== null && value !== undefined && !partAsides.has(name),
    );
  return foreign
    ? { type: 'foreign', protocol: protocolName, value: part, at: place.at }
    : decodeText(part, saysText, place.at);
}

const textFields = new Set(['thoughtSignature', 'text']);
const thoughtFields = new Set([...textFields, 'thought']);

/** A part that holds nothing is one whose text is empty: streams put their last signature in such. */
function decodeText(part: WirePart, saysText: boolean, at: string): Block {
  const { form, ...opaque } = sealed(part);
  const thought = part.thought === true;
  return {
    type: thought ? 'reasoning' : 'text',
    text: part.text ?? '',
    ...opaque,
    at,
    ...bag.keep(leftover(part, thought ? thoughtFields : textFields), saysText ? form : [...form, 'no-text']),
  };
}

/** `MEDIA_RESOLUTION_LOW` → `low`. */
function detailOf({ mediaResolution }: WirePart): string | undefined {
  const level = /^MEDIA_RESOLUTION_([A-Z_]+)$/.exec(mediaResolution?.level ?? '')?.[1];
  return level === undefined || level === 'UNSPECIFIED' ? undefined : level.toLowerCase();
}

function decodeMedia(part: WirePart, { block, rest, form }: ReadMedia, name: string, at: string): MediaBlock {
  const { form: signatureForm, ...opaque } = sealed(part);
  const detail = detailOf(part);
  const resolution =
    detail === undefined
      ? {}
      : nested('mediaResolution', leftover(part.mediaResolution ?? {}, new Set(['level'])));
  const known = new Set([name, 'thoughtSignature', ...(detail === undefined ? [] : ['mediaResolution'])]);
  return {
    ...block,
    ...(detail === undefined ? {} : { detail }),
    ...opaque,
    at,
    ...bag.keep({ ...leftover(part, known), ...rest, ...resolution }, [...signatureForm, ...form]),
  };
}

const callFields = new Set(['id', 'name', 'args']);
const callPart = new Set(['functionCall', 'thoughtSignature']);

function inside(value: unknown, name: string): unknown {
  return isObject(value) ? value[name] : undefined;
}

function decodeCall(part: WirePart, call: WireCall, { at, content, calls, exact = part }: Place): Block {
  const { form, ...opaque } = sealed(part);
  const id = calls.called(call.name, call.id || undefined, content);
  const spelt = [
    ...form,
    ...(call.id ? [] : [call.id === '' ? 'empty-id' : 'no-id']),
    ...(call.args ? [] : ['no-args']),
  ];
  return {
    type: 'tool-call',
    id,
    name: call.name,
    arguments: call.args ? JSON.stringify(inside(exact.functionCall, 'args')) : '{}',
    ...opaque,
    at,
    ...bag.keep(
      { ...leftover(part, callPart), ...nested('functionCall', leftover(call, callFields)) },
      spelt,
    ),
  };
}

const resultFields = new Set(['id', 'name', 'response', 'parts']);
const resultPart = new Set(['functionResponse']);
const filePart = new Set(['inlineData', 'fileData']);

function decodeResult(part: WirePart, result: WireResult, { at, calls, exact = part }: Place): ToolResult {
  const { text, isError, form } = readResponse(inside(exact.functionResponse, 'response'));
  const callId = calls.answered(result.name, result.id || undefined);
  const files = (result.parts ?? []).map((file) => ({
    file,
    read: file.inlineData ? readBlob(file.inlineData) : file.fileData ? readFile(file.fileData) : undefined,
  }));
  const legible = files.every(({ read }) => read !== undefined);
  const media = (legible ? files : []).flatMap(({ file, read }, index): ResultContent[] =>
    read
      ? [
          {
            ...read.block,
            at: `${at}.functionResponse.parts[${index}]`,
            ...bag.keep({ ...leftover(file, filePart), ...read.rest }, read.form),
          },
        ]
      : [],
  );
  const said: ResultContent[] = text === undefined ? [] : [{ type: 'text', text }];
  const spelt = [...form, ...idForm(result.id, callId)];
  const rest = leftover(
    result,
    legible && media.length > 0
      ? resultFields
      : new Set([...resultFields].filter((name) => name !== 'parts')),
  );
  return {
    type: 'tool-result',
    callId,
    name: result.name,
    content: [...said, ...media],
    ...(isError ? { isError } : {}),
    at,
    ...bag.keep({ ...leftover(part, resultPart), ...nested('functionResponse', rest) }, spelt),
  };
}

function idForm(id: string | null | undefined, callId: string): string[] {
  if (id === undefined || id === null) return ['no-id'];
  return id === callId ? [] : [`id:${id}`];
}

interface ReadResponse {
  readonly text: string | undefined;
  readonly isError: boolean;
  readonly form: readonly string[];
}

/** Google documents two names inside a response, `output` and `error`; any other object is the output itself. */
function readResponse(response: unknown): ReadResponse {
  if (!isObject(response)) return { text: undefined, isError: false, form: ['no-response'] };
  const [only, ...others] = Object.keys(response);
  if (others.length > 0 || (only !== 'output' && only !== 'error'))
    return { text: JSON.stringify(response), isError: false, form: ['object'] };
  const value = response[only];
  const isError = only === 'error';
  return typeof value === 'string'
    ? { text: value, isError, form: [] }
    : { text: JSON.stringify(value), isError, form: ['json'] };
}
