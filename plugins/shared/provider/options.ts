/** Options that providers share: keys, address, models, timeouts, and what happens when a client leaves. */
import { z } from 'zod';
import {
  allowReference,
  longestDeadline,
  priceSchema,
  secondsOption,
  type DrainLimits,
} from '../../../core/index.ts';
import { ownModelsSchema } from './own-models.ts';

const drainSchema = z.strictObject({
  /** Seconds and bytes of text to read at most. */
  seconds: z.number().positive().max(longestDeadline).default(60),
  bytes: z
    .int()
    .positive()
    .default(4 * 1024 * 1024),
  /** Replies of the provider to drain at once. */
  atOnce: z.int().positive().default(20),
});

/** When a client disconnects: cancel the provider's reply, or drain it for its usage, within limits. */
export const onAbortSchema = z
  .union([z.literal('cancel'), z.literal('drain'), z.strictObject({ drain: drainSchema })])
  .default('cancel');

/** Limits of draining. */
export function buildDrainLimits(choice: z.output<typeof onAbortSchema>): DrainLimits | undefined {
  if (choice === 'cancel') return undefined;
  return choice === 'drain' ? drainSchema.parse({}) : choice.drain;
}

/** Seconds to the first event of a stream, and to a JSON reply, instead of the gateway's. */
export const patienceSchema = z
  .strictObject({ firstEvent: secondsOption, reply: secondsOption })
  .partial()
  .optional();

/** Characters that a header can hold: a key with a line break would fail every call without saying why. */
export const plainSecret = z
  .string()
  .regex(/^[!-~]+$/, 'has to be a key: letters, digits and signs, without a space or a line break');
/** A key, or a reference to where it is. */
export const secretSchema = allowReference(plainSecret);
/** One key, or several that take turns. */
export const keySchema = z.union([secretSchema, z.array(secretSchema).min(1)]);

/** A base URL. */
export const addressSchema = z.url({
  protocol: /^https?$/,
  error: 'has to be an address with its scheme, as https://host/v1',
});

/** The options that all vendors have. */
export const vendorOptions = {
  /** Models to add, change or hide, by id. */
  models: ownModelsSchema,
  onAbort: onAbortSchema,
  timeouts: patienceSchema,
};

export const optionsSchema = z.strictObject({
  /** Key or keys. Default: the usual environment variable. */
  apiKey: keySchema.optional(),
  /** Base URL with its version segment. Default: the usual environment variable, or the vendor's own. */
  baseUrl: addressSchema.optional(),
  /** Discovered models cost nothing. */
  free: z.literal(true).optional(),
  /** Price of discovered models in USD per million tokens. */
  price: priceSchema.optional(),
  /** Context length in tokens of discovered models that do not state it. */
  contextLength: z.int().positive().default(8192),
  /** Seconds between two reads of the model list. */
  discoverEvery: z.int().positive().max(longestDeadline).default(60),
  ...vendorOptions,
});

export type ProviderOptions = z.output<typeof optionsSchema>;
