/**
 * What an endpoint takes and returns, as zod schemas, for `/openapi.json`. A function returns it, so that
 * nothing is loaded before the first request for it. A schema with a `title` is listed once, by that name.
 */
import type { z } from 'zod';

/** Schemas by media type; that of a stream is the schema of one event's data. */
export type Content = Readonly<Record<string, z.ZodType>>;

export interface Description {
  /** A few words: what calling it does. */
  readonly summary: string;
  /** What else there is to know, in Markdown. */
  readonly details?: string;
  readonly query?: z.ZodObject;
  readonly headers?: z.ZodObject;
  readonly body?: Content;
  /** What is answered where nothing goes wrong, by status. */
  readonly replies: Readonly<Record<number, Content>>;
  /** The body of its errors. */
  readonly error: z.ZodType;
}

/** An address of a protocol's, which has no route to tell where it is. */
export interface CallDescription extends Description {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With parameters in braces: `/v1beta/models/{model}:generateContent`. */
  readonly path: string;
}
