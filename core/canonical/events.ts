/**
 * The one canonical form of a reply: events, whether the wire sent them one by one or all at once. A reply is
 * `response-start`, then blocks (`block-start`, its deltas, `block-end`) with annotations, logprobs and usage
 * between them, one `finish` for each candidate, and `response-end`. A reply that stops without `response-end`
 * was cut. Blocks are numbered from 0 within a reply, each number used once.
 */
import { z } from 'zod';
import { errorCodes } from '../errors.ts';
import { usageSchema } from './usage.ts';

/** Fields no canonical name exists for, kept under the protocol that knows them. */
export const vendorBagSchema = z.record(z.string(), z.record(z.string(), z.unknown()));
export type VendorBag = z.infer<typeof vendorBagSchema>;

/** A vendor's sealed state (a signature, encrypted reasoning): carried, never read, given back to that vendor alone. */
export const opaqueSchema = z.strictObject({ vendor: z.string(), kind: z.string(), value: z.string() });
export type Opaque = z.infer<typeof opaqueSchema>;

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
    /** Of a tool call: its id, and the name it calls; `custom` ones take free text instead of JSON. */
    id: z.string().optional(),
    name: z.string().optional(),
    custom: z.boolean().optional(),
    /** Of a tool call: what seals it, where that is known so early. Its end tells it in any case. */
    opaque: z.array(opaqueSchema).optional(),
    mediaType: z.string().optional(),
    ...bag,
  }),
  /** Text, reasoning text, tool arguments (JSON text), code, or base64 of media: always to be joined in order. */
  z.strictObject({ type: z.literal('block-delta'), ...place, text: z.string(), ...bag }),
  /** A picture while it is being painted, in base64: its block comes when it is done. */
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
  /** The vendor broke off inside its reply and said why. Its bag holds the vendor's error under the name of its family. */
  z.strictObject({
    type: z.literal('error'),
    message: z.string(),
    code: z.string().optional(),
    status: z.int().optional(),
    /** What the error means, where the decoder knows; the message may then be shown to the caller. */
    meaning: z.enum(errorCodes).optional(),
    ...bag,
  }),
  /** The vendor sent an event that cannot be read. Nothing of it is sent to the client. */
  z.strictObject({ type: z.literal('unreadable') }),
  z.strictObject({ type: z.literal('response-end') }),
]);

export type CanonicalEvent = z.infer<typeof eventSchema>;
