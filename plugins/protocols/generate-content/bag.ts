/**
 * The protocol's name, its vendor, and its typed bag on canonical values. The bag keeps the vendor's fields
 * that have no canonical name, and notes on how the client wrote a value. The encoder restores both.
 */
import { createBag } from '../../shared/wire-kit/vendor-bag.ts';

export const protocolName = 'generate-content';
/** The owner of the models that can read this protocol's signatures and files. */
export const vendorName = 'google';

/** A decoder sets each flag, and one encoder reads it. A misspelt flag does not compile. */
type Flag =
  /** The request was read in this protocol. */
  | 'read'
  /** The body named the model. */
  | 'model'
  /** The content had no role. */
  | 'no-role'
  /** The content is kept unchanged, because its role is unknown. */
  | 'whole'
  /** The block began a new content within its turn. */
  | 'content'
  | 'no-text'
  | 'no-id'
  | 'no-args'
  | 'no-response'
  /** The result was an object without the documented names, or held JSON under one of them. */
  | 'object'
  | 'json'
  | Base64Form;

/** How base64 was written, if not in the standard form. */
export type Base64Form = 'url-safe' | 'unpadded';

/** Notes hold a value after the colon. */
type Note =
  /** The values of these fields as the client wrote them. */
  | 'tier'
  | 'level'
  | 'modalities'
  | 'mode'
  /** The index of the group that held the tool. */
  | 'group'
  /** A placeholder for a signature, or the `Base64Form` of a signature. */
  | 'signature'
  /** The JSON path of a field in snake_case, or of a single object in place of a list. */
  | 'snake'
  | 'one';

export type Form = Flag | `${Note}:${string}`;

export const bag = createBag<Form>(protocolName);
