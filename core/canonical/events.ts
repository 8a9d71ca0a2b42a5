/**
 * The canonical form of a reply: events, whether the provider sent them one by one or at once.
 * `response-start` comes first, then blocks (`block-start`, its deltas, `block-end`) with annotations,
 * logprobs and usage between them, one `finish` for each candidate, and `response-end`. A reply without
 * `response-end` was cut. Blocks are numbered from 0 within a reply, and each number is used once.
 */
import { z } from 'zod';
import { errorCodes } from '../util/errors.ts';
import { usageSchema } from './usage.ts';

/** Fields without a canonical name, by the protocol that defines them. */
export const vendorBagSchema = z.record(z.string(), z.record(z.string(), z.unknown()));
export type VendorBag = z.infer<typeof vendorBagSchema>;

/** A provider's signature or encrypted reasoning. It is never read, and returned to that provider only. */
export const opaqueSchema = z.strictObject({ vendor: z.string(), kind: z.string(), value: z.string() });
export interface Opaque extends z.infer<typeof opaqueSchema> {}

export const blockKinds = [
  'text',
  'reasoning',
  'refusal',
  'tool-call',
  'server-tool',
  'code',
  'image',
  'audio',
] as const;
export type BlockKind = (typeof blockKinds)[number];

export const finishReasons = [
  'stop',
  'stop-sequence',
  'length',
  'context-length',
  'tool-calls',
  'content-filter',
  'refusal',
  'pause',
  'error',
  'other',
] as const;
export type FinishReason = (typeof finishReasons)[number];

const place = { candidate: z.int().nonnegative(), block: z.int().nonnegative() };
const bag = { vendor: vendorBagSchema.optional() };

export const eventSchema = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('response-start'),
    id: z.string().optional(),
    model: z.string().optional(),
    created: z.int().optional(),
    ...bag,
  }),
  z.strictObject({
    type: z.literal('block-start'),
    ...place,
    kind: z.enum(blockKinds),
    /** Of a tool call: its id and the name of its tool. A `custom` tool takes free text instead of JSON. */
    id: z.string().optional(),
    name: z.string().optional(),
    custom: z.boolean().optional(),
    /** Of a tool call: its signature, if it is known this early. `block-end` carries it in any case. */
    opaque: z.array(opaqueSchema).optional(),
    mediaType: z.string().optional(),
    /** Of a picture without data: where it is. */
    url: z.string().optional(),
    ...bag,
  }),
  /** Text, reasoning, tool arguments (JSON text), code, or base64 media, to be joined in order. */
  z.strictObject({ type: z.literal('block-delta'), ...place, text: z.string(), ...bag }),
  /** An unfinished picture in base64. Its block follows when it is finished. */
  z.strictObject({
    type: z.literal('partial-image'),
    candidate: z.int().nonnegative(),
    index: z.int().nonnegative(),
    data: z.string(),
    ...bag,
  }),
  z.strictObject({
    type: z.literal('block-end'),
    ...place,
    opaque: z.array(opaqueSchema).optional(),
    ...bag,
  }),
  z.strictObject({
    type: z.literal('annotation'),
    ...place,
    annotation: z.strictObject({
      kind: z.enum(['url', 'file', 'other']),
      url: z.string().optional(),
      title: z.string().optional(),
      start: z.int().optional(),
      end: z.int().optional(),
      citedText: z.string().optional(),
      ...bag,
    }),
  }),
  z.strictObject({ type: z.literal('logprobs'), ...place, content: z.array(z.unknown()) }),
  z.strictObject({ type: z.literal('usage'), usage: usageSchema, ...bag }),
  z.strictObject({
    type: z.literal('finish'),
    candidate: z.int().nonnegative(),
    reason: z.strictObject({ unified: z.enum(finishReasons), raw: z.string() }),
    stopSequence: z.string().optional(),
    ...bag,
  }),
  z.strictObject({ type: z.literal('ping') }),
  /** The provider broke off its reply with an error. `vendor` holds the error by the name of its family. */
  z.strictObject({
    type: z.literal('error'),
    message: z.string(),
    code: z.string().optional(),
    status: z.int().optional(),
    /** The meaning of the error, if the decoder knows it; then the client may see the message. */
    meaning: z.enum(errorCodes).optional(),
    ...bag,
  }),
  /** The provider sent an unreadable event. Nothing of it reaches the client. */
  z.strictObject({ type: z.literal('unreadable') }),
  z.strictObject({ type: z.literal('response-end') }),
]);

type Shape<Type> = Extract<z.infer<typeof eventSchema>, { type: Type }>;
// Interfaces have names, which editors and errors show in place of all members.
export interface ResponseStart extends Shape<'response-start'> {}
export interface BlockStart extends Shape<'block-start'> {}
export interface BlockDelta extends Shape<'block-delta'> {}
export interface PartialImage extends Shape<'partial-image'> {}
export interface BlockEnd extends Shape<'block-end'> {}
export interface Annotated extends Shape<'annotation'> {}
export interface Logprobs extends Shape<'logprobs'> {}
export interface UsageReport extends Shape<'usage'> {}
export interface Finish extends Shape<'finish'> {}
export interface ReplyError extends Shape<'error'> {}
type BlockEvent = BlockStart | BlockDelta | BlockEnd | PartialImage | Annotated | Logprobs;
type ReplyEvent =
  | ResponseStart
  | UsageReport
  | Finish
  | ReplyError
  | Shape<'ping' | 'unreadable' | 'response-end'>;
export type CanonicalEvent = BlockEvent | ReplyEvent;
export type EventOf<Type extends CanonicalEvent['type']> = Extract<CanonicalEvent, { type: Type }>;
export type Annotation = EventOf<'annotation'>['annotation'];
