/**
 * What an endpoint takes and returns, as zod schemas, for `/openapi.json`. A function returns it, so that
 * nothing loads before the first request for it. A schema with a `title` is listed once, under that name.
 */
import type { z } from 'zod';

/** Schemas by media type. A stream's schema describes the data of one event. */
export type Content = Readonly<Record<string, z.ZodType>>;

export interface Description {
  /** What calling it does, in a few words. */
  readonly summary: string;
  /** Further details, in Markdown. */
  readonly details?: string;
  readonly query?: z.ZodObject;
  readonly headers?: z.ZodObject;
  readonly body?: Content;
  /** Successful replies, by status. */
  readonly replies: Readonly<Record<number, Content>>;
  /** The body of its errors. */
  readonly error: z.ZodType;
}

/** A protocol's endpoint, which has no route that names its path. */
export interface CallDescription extends Description {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path, with parameters in braces: `/v1beta/models/{model}:generateContent`. */
  readonly path: string;
}
