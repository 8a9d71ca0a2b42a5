/**
 * What authors of providers, protocols and routes use in addition to core, published as `tollgate/kit`.
 * Everything else in this folder is internal.
 */

/** `defineProvider` makes a plugin of a provider's data. */
export { defineProvider, type ProviderSpec } from './provider/define-provider.ts';

/** `readCatalogue` reads a catalogue file, and `findPriceOrigin` says how old one of its prices is. */
export { findPriceOrigin, readCatalogue } from './provider/catalogue-file.ts';

/** What clouds, which are more than data, share with it: a check of the doctor, options, and own models. */
export { examineVendor, type Probe } from './provider/examine-vendor.ts';
export {
  addressSchema,
  buildDrainLimits,
  keySchema,
  onAbortSchema,
  patienceSchema,
  secretSchema,
} from './provider/options.ts';
export { applyOwnModels, ownModelsSchema, type OwnModel } from './provider/own-models.ts';

/** `defineFamily` makes a plugin of calls that are no conversations, such as embeddings, from its wires. */
export { defineFamily } from './family/define-family.ts';
export type { ByteReader, ByteReply } from './family/wires.ts';
export type { ClientWire, Demo, Family, Part, ReadAnswer, ReadAsk, Wire } from './family/wires.ts';

/** `readForm` reads a body of multipart/form-data, for protocols that take files; `encodeForm` writes one. */
/** `requireBytes` gives the bytes of a file, and refuses one that is not in memory. */
export { encodeForm, Form, readForm, requireBytes } from './forms.ts';
export type { FormFile } from './forms.ts';

/** Metrics that keep their values when plugins are reloaded. */
export { defineCounter, defineGauge, defineHistogram } from './metric.ts';

/** `defineChannel` makes a plugin that tells operators of notices; `sendJson` posts to its address. */
export { channelOptions, channelUrl, defineChannel, defineJsonChannel } from './notices/channel.ts';
export { formatTitle, sendJson, SendError, type Message } from './notices/message.ts';

/** `formatTable` lays out what a command prints. */
export { formatTable } from './table.ts';

/** Errors in chat-completions' body, `{ error: { message, type, param, code } }`, in both directions. */
export { decodeError, encodeError, buildErrorBody, buildErrorEvent } from './openai/errors.ts';

/** `checkWire` parses a body with a zod schema, and throws a 400 that names the first field at fault. */
/** `buildFieldError` builds such a 400 for checks that a schema cannot express. */
export { buildFieldError, checkWire } from './wire-kit/wire-check.ts';

/** `providerObject` is the schema of a request's `provider`, and `readPreferences` its value for core. */
export { readPreferences, providerObject } from './wire-kit/provider-object.ts';

/** `createBag` stores a protocol's own fields. */
/** `pickUnread` picks the members that a decoder does not read; `overlay` merges them back in. */
export { createBag, pickUnread, overlay } from './wire-kit/vendor-bag.ts';

/** `collectLosses` gives an encoder its list of losses, and the function that reports one. */
/** `refusePart` refuses the call because of content that the wire cannot carry. */
export { collectLosses, refusePart, type Lose } from './wire-kit/losses.ts';

/** `listForeignFields` lists the fields of a request that exist only in the client's protocol, as losses. */
/** `describeProtocol` says which of a protocol's own fields mean nothing, or decide what an answer is. */
export { describeProtocol, listForeignFields } from './wire-kit/foreign-fields.ts';

/** `fitLimit` and `fitModalities` fit a request's output limit and output modalities to the model. */
export { fitLimit, fitModalities } from './wire-kit/fit-to-model.ts';

/** `findEffort` turns a token budget into an effort, `findNearestEffort` an effort into an allowed one. */
export { findEffort, findNearestEffort } from './wire-kit/reasoning-effort.ts';

/** Renames repeated ids of tool calls, and moves results behind their calls. */
export { moveResultsToCalls, makeCallIdsUnique } from './wire-kit/calls-and-results.ts';

/** `parseArguments` parses a call's arguments without changing a digit; `ArgumentPieces` streams them. */
export { ArgumentPieces, parseArguments } from './wire-kit/tool-arguments.ts';

/** `readDataUrl` splits a base64 data URL, and `buildDataUrl` joins one. */
export { buildDataUrl, readDataUrl } from './wire-kit/media.ts';

/** `parseJson` parses an event's data; `canSkipEvent` says whether a reply continues without the event. */
export { canSkipEvent, parseJson } from './wire-kit/event-data.ts';
