/**
 * What all parts of this protocol share: its name and bag, the context of its encoders, the flags of a model,
 * the names and ids that it accepts, cache marks, the envelopes with state of other vendors, and errors.
 */
import { z } from 'zod';
import {
  type CanonicalRequest,
  createFlagReader,
  type Block,
  type Opaque,
  type ErrorReply,
  type GatewayError,
  type EventOf,
} from '../../../core/index.ts';
import {
  selectClientStatus,
  decodeVendorError,
  buildErrorEvent,
  readVendorError,
} from '../../shared/vendors/errors.ts';
import { buildEncoding, type Encoding as BaseEncoding, type Target } from '../../shared/wire-kit/encoding.ts';
import { seal, unsealOwned } from '../../shared/wire-kit/envelope.ts';
import { describeProtocol } from '../../shared/wire-kit/foreign-fields.ts';
import { findCallLimit } from '../../shared/wire-kit/hosted-tools.ts';
import type { Lose } from '../../shared/wire-kit/losses.ts';
import { hashText, fitNameByRule } from '../../shared/wire-kit/offered-tools.ts';
import { findKnown } from '../../shared/wire-kit/open-values.ts';
import {
  createBag,
  isObject,
  nestFields,
  pickStated,
  splitNames,
  type Fields,
  type Sides,
} from '../../shared/wire-kit/vendor-bag.ts';

export const protocolName = 'messages';
export const bag = createBag(protocolName);
/** The vendor of this protocol's file ids, signatures and encrypted reasoning. */
export const nativeVendor = 'anthropic';

describeProtocol(protocolName, {
  partly: splitNames('cache_control output_config source thinking'),
  collections: splitNames('context_management mcp_servers'),
  isHarmless: (name, value) => name === 'citations' && isObject(value) && value.enabled === false,
  state: splitNames('container'),
  decisive: { 'output_config.format.type': [], tool_choice: ['auto', 'disabled', 'none', 'required'] },
  compactionField: 'compaction',
});

const rule = { good: /^[A-Za-z0-9_-]{1,128}$/, strange: /[^A-Za-z0-9_-]/g, longest: 128 };
const goodId = /^[A-Za-z0-9_-]{1,64}$/;

export function fitName(name: string): string {
  return fitNameByRule(name, rule);
}

/** Returns the id itself if Anthropic accepts it, or else a hash of it: a call and its result stay paired. */
export function fitCallId(id: string): string {
  return goodId.test(id) ? id : `toolu_${hashText(id)}`;
}

/** Makes the id of a call without one, from the id of the reply and the number of the block. */
export function makeCallId(reply: string, block: number): string {
  return `toolu_${hashText(JSON.stringify([reply, block]))}`;
}

export type Lifetime = '5m' | '1h';

interface Mark {
  readonly ttl?: Lifetime | '30m' | '12h' | undefined;
}

const times = ['5m', '1h'] as const;
const markType = 'ephemeral';
const markFields = splitNames('type');
const knownMarkFields = splitNames('type ttl');
const mostMarks = 4;

/** Decodes the mark among the unread members of a block or tool, and keeps the others. */
export function decodeSides(rest: Fields): Sides & { cache?: Mark } {
  const { cache_control: mark, ...others } = rest;
  if (!isObject(mark) || mark.type !== markType) return bag.keep(rest);
  const ttl = findKnown(mark.ttl, times);
  const unread = pickStated(mark, ttl === undefined ? markFields : knownMarkFields);
  return { cache: { ttl }, ...bag.keep({ ...others, ...nestFields('cache_control', unread) }) };
}

/** Encodes the mark of a block or tool as `cache_control`. `path` is the canonical path of its owner. */
type MarkEncoder = (mark: Mark | undefined, path: string) => Fields | undefined;

/** The encoder keeps the last four marks of a request, because they cover the most text. */
function createMarkEncoder(request: CanonicalRequest, lose: Lose): MarkEncoder {
  const tooMany = new Set(
    listMarks(request)
      .slice(0, -mostMarks)
      .map(({ path }) => path),
  );
  return (mark, path) => {
    if (!mark) return undefined;
    if (tooMany.has(path)) {
      lose(`${path}.cache`, `messages accepts ${mostMarks} cache marks; the last ones are kept`);
      return undefined;
    }
    const ttl = fitLifetime(mark);
    if (ttl !== mark.ttl) lose(`${path}.cache.ttl`, `sent as "${ttl}"`, 'approximated');
    return { type: markType, ttl };
  };
}

/** The nearest lifetime that is not longer: a longer one costs more to write. */
function fitLifetime({ ttl }: Mark): Lifetime | undefined {
  if (ttl === '30m') return '5m';
  return ttl === '12h' ? '1h' : ttl;
}

interface Markable {
  readonly cache?: Mark | undefined;
  readonly content?: readonly Markable[];
}

/** The marks of a request with the paths of their owners, in the order in which the model reads them. */
function listMarks({ tools = [], turns }: CanonicalRequest): readonly { path: string; mark: Mark }[] {
  const marks: { path: string; mark: Mark }[] = [];
  const add = (list: string, owners: readonly Markable[]): void => {
    for (const [index, { cache, content }] of owners.entries()) {
      const path = `${list}[${index}]`;
      if (content) add(`${path}.content`, content);
      if (cache) marks.push({ path, mark: cache });
    }
  };
  add('tools', tools);
  for (const [index, { blocks }] of turns.entries()) add(`turns[${index}].blocks`, blocks);
  return marks;
}

/** Returns the requested cache lifetime: one hour only if all marks request it. */
export function getRequestedLifetime(request: CanonicalRequest): Lifetime {
  const marks = listMarks(request);
  return marks.length > 0 && marks.every(({ mark }) => fitLifetime(mark) === '1h') ? '1h' : '5m';
}

export interface Encoding extends BaseEncoding {
  readonly mark: MarkEncoder;
  /** The limit that a client of another protocol sets for all hosted tools. */
  readonly callLimit: ReturnType<typeof findCallLimit>;
}

export function createEncoding(request: CanonicalRequest, target: Target): Encoding {
  return {
    mark: createMarkEncoder(request, target.lose),
    callLimit: findCallLimit(request),
    ...buildEncoding(request, target),
  };
}

export const flagsSchema = z.strictObject({
  /** Whether the model can be made to call a tool. */
  forcesTools: z.boolean().default(true),
  /** Whether the model accepts system messages within a conversation. */
  midSystem: z.boolean().default(false),
  /** Whether the model continues an answer that the client has begun. */
  prefill: z.boolean().default(true),
});

export const readFlags = createFlagReader(protocolName, flagsSchema);

const ofCall = 'call ';
const nextText = 'next text';

/** The block that sealed state belongs to. */
export type Owner = 'reasoning' | 'text' | typeof nextText | { readonly call: string };

export function writeEnvelope(opaque: Opaque, owner: Owner | undefined): string {
  return seal(opaque, typeof owner === 'object' ? ofCall + owner.call : owner);
}

type SealedBlock = Extract<Block, { opaque?: unknown }>;

/** The blocks of a message, indexed by owner: a search for every envelope would take quadratic time. */
export class UnsealedBlocks {
  readonly blocks: Block[] = [];
  readonly #owners = new Map<string, SealedBlock>();
  /** State of calls and texts that follow after it. */
  readonly #early = new Map<string, Opaque[]>();

  add(block: Block): void {
    this.blocks.push(block);
    if (block.type === 'text' || block.type === 'reasoning') this.#owners.set(block.type, block);
    if (block.type === 'text') this.#claim(nextText, block);
    if (block.type !== 'tool-call' || this.#owners.has(ofCall + block.id)) return;
    this.#owners.set(ofCall + block.id, block);
    this.#claim(ofCall + block.id, block);
  }

  #claim(owner: string, block: SealedBlock): void {
    const early = this.#early.get(owner);
    if (early) block.opaque = early;
    this.#early.delete(owner);
  }

  /** Attaches the state in an envelope to its owner. Returns false if `data` is not an envelope. */
  open(data: string, at: string): boolean {
    const sealed = unsealOwned(data);
    if (!sealed) return false;
    const { opaque, owner } = sealed;
    const block = owner === undefined ? undefined : this.#owners.get(owner);
    const early = owner === undefined ? undefined : this.#early.get(owner);
    if (block) (block.opaque ??= []).push(opaque);
    // Some clients send the seal of reasoning back without its text.
    else if (owner === undefined || owner === 'reasoning')
      this.add({ type: 'reasoning', text: '', opaque: [opaque], at });
    else if (early) early.push(opaque);
    else this.#early.set(owner, [opaque]);
    return true;
  }
}

/** The error types by HTTP status. */
const errorTypes: ReadonlyMap<number, string> = new Map([
  [400, 'invalid_request_error'],
  [401, 'authentication_error'],
  [402, 'billing_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [409, 'conflict_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [500, 'api_error'],
  [504, 'timeout_error'],
  [529, 'overloaded_error'],
]);

/** For an overload, all other protocols use status 503. */
function readStatus({ status }: GatewayError): number {
  return status === 503 ? 529 : status;
}

/** Clients recognize a conversation that is too long by this text. */
const tooLong = 'prompt is too long';

function buildErrorBody(error: GatewayError, id: string | undefined): Fields {
  const { vendor } = error.details;
  const otherwise = error.status < 499 ? 'invalid_request_error' : 'api_error';
  const type =
    error.code === 'spending_capped' ? 'billing_error' : (errorTypes.get(readStatus(error)) ?? otherwise);
  const message = buildMessage(error);
  // Clients distinguish errors of their request by the vendor's code.
  const details = error.status === 400 && vendor?.code ? { details: { error_code: vendor.code } } : {};
  const body =
    vendor?.family === protocolName ? { type, ...vendor.body, message } : { type, message, ...details };
  return { type: 'error', error: body, ...(id === undefined ? {} : { request_id: id }) };
}

/** The body has no field for the name of a parameter. As with Anthropic, the message starts with it. */
function buildMessage({ code, message, details: { param, vendor } }: GatewayError): string {
  if (code === 'context_length_exceeded')
    return message.toLowerCase().includes(tooLong) ? message : `${tooLong}: ${message}`;
  return param === undefined || vendor || message.includes(param) ? message : `${param}: ${message}`;
}

export function encodeError(error: GatewayError, id?: string): ErrorReply {
  const status = selectClientStatus(error, protocolName) ?? readStatus(error);
  return { status, body: buildErrorBody(error, id) };
}

/** No `message_stop` follows: it would make a broken reply look complete. */
export function encodeStreamError(error: GatewayError): string {
  return `event: error\ndata: ${JSON.stringify(buildErrorBody(error, undefined))}\n\n`;
}

export function readStreamError(event: Fields): EventOf<'error'> {
  const error = readVendorError(event);
  return buildErrorEvent(protocolName, { ...error, code: error.type ?? error.code });
}

/** Turns a provider's status and error body into an error that is safe to show to the client. */
export function decodeError(status: number, text: string): GatewayError {
  return decodeVendorError(protocolName, status, text);
}
