/**
 * What tells OpenAI's two protocols apart for the code that they share. Chat-completions keeps the members of
 * a tool, a citation or a file in an object named for its type, `{ type, file: { … } }`; responses keeps them
 * beside the type.
 */
import type { Encoding } from '../wire-kit/encoding.ts';
import { readObject } from '../wire-kit/values.ts';
import type { Bag, Fields, Tracked } from '../wire-kit/vendor-bag.ts';

export interface Dialect {
  readonly protocol: string;
  readonly bag: Bag;
  /** Whether members are in an object named for the type. */
  readonly nests: boolean;
  readonly isKnownPart: (part: unknown) => boolean;
}

/** What the encoders of a request in one of these protocols need to know. */
export interface OpenaiEncoding extends Encoding {
  readonly dialect: Dialect;
  /** Whether the provider supports OpenAI's later additions to the protocol. */
  readonly extras: boolean;
  /** Whether the model takes OpenAI's cache marks. */
  readonly marks: boolean;
  /** Whether the provider is OpenAI, which alone stores files, or has all that OpenAI has. */
  readonly isOpenai: boolean;
  /** The name under which a tool is offered. */
  readonly nameTool: (name: string) => string;
}

export interface Typed extends Fields {
  readonly type: string;
}

/** Puts the members where the protocol has them. */
export function placeMembers({ type, ...members }: Typed, { nests }: Dialect): Typed {
  return nests ? { type, [type]: members } : { type, ...members };
}

/** The object that holds the members, to read them from. */
export function openMembers(thing: Tracked<Fields>, type: string, { nests }: Dialect): Fields {
  return nests ? readObject(thing.open(type)?.seen) : thing.seen;
}
