/**
 * The protocol's name, its vendor, and its typed slot on canonical values. The slot keeps what the canonical
 * form has no field for: the vendor's own fields, and notes on how the client wrote a value. The encoder
 * restores both.
 */
import { createBag, type Fields, type Sides } from '../../shared/wire-kit/vendor-bag.ts';

export const protocolName = 'generate-content';
/** Owner of the models that read this wire's own signatures and files. */
export const vendorName = 'google';

/** Each flag is set by a decoder and read by one encoder; a misspelt one does not compile. */
type Flag =
  /** The request was read in this protocol. */
  | 'read'
  /** The request had this field, if only an empty one. */
  | 'model'
  | 'thinking'
  | 'toolConfig'
  | 'generationConfig'
  /** The content had no role. */
  | 'no-role'
  /** The content is kept whole, because its role is unknown. */
  | 'whole'
  /** The block began a content of its own in the middle of its turn. */
  | 'content'
  | 'no-text'
  | 'no-id'
  | 'empty-id'
  | 'no-args'
  | 'no-response'
  /** The result was an object without the documented names, or held JSON under one of them. */
  | 'object'
  | 'json'
  | Base64Form;

/** How base64 was written, if not in the standard way. */
export type Base64Form = 'url-safe' | 'unpadded';

/** Notes hold a value: the text after the colon. */
type Note =
  /** These fields as the client wrote them. */
  | 'tier'
  | 'level'
  | 'modalities'
  | 'role'
  | 'mode'
  | 'id'
  /** The index of the group that held the tool. */
  | 'group'
  /** A schema in Google's own form, as JSON. */
  | 'openapi'
  /** A placeholder for a signature, or the `Base64Form` of a signature. */
  | 'signature'
  /** The JSON path of a field in snake_case, or of one object that was written in place of a list. */
  | 'snake'
  | 'one';

export type Form = Flag | `${Note}:${string}`;

const slot = createBag(protocolName);

export const bag = {
  getFields: slot.getFields,
  getForm: slot.getForm,
  keep: (fields: Fields, form?: readonly Form[]): Sides => slot.keep(fields, form),
  /** Adds a flag to what a value keeps already. */
  mark: (thing: Sides, flag: Flag): Sides => slot.keep(slot.getFields(thing), [...slot.getForm(thing), flag]),
  has: (thing: Sides | undefined, flag: Flag): boolean => slot.getForm(thing).includes(flag),
  listNotes: (thing: Sides | undefined, name: Note): string[] =>
    slot.getForm(thing).flatMap((each) => (each.startsWith(`${name}:`) ? [each.slice(name.length + 1)] : [])),
  findNote: (thing: Sides | undefined, name: Note): string | undefined => bag.listNotes(thing, name)[0],
};
