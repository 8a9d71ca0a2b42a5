/** What an operator sends to see a crossing. */
import { z } from 'zod';

/** Characters of a body. Each crossing encodes all of it. */
const longestBody = 256 * 1024;

export const crossingOrder = z.strictObject({
  /** Name of the client's protocol. */
  protocol: z.string().max(100),
  /** The request, as JSON or as its text. The text keeps every digit as written. */
  body: z.union([
    z.string().max(longestBody, `the body has at most ${longestBody} characters`),
    z.record(z.string(), z.unknown()),
  ]),
  /** Replaces the body's model. */
  model: z.string().min(1).max(300).optional(),
  operation: z.enum(['generate', 'edit', 'count']).default('generate'),
  /** Whether the reply is a stream, for protocols whose path says so. Others say so in the body. */
  stream: z.boolean().default(false),
  /** Headers of the client. */
  headers: z.record(z.string().regex(/^[a-z0-9-]{1,100}$/), z.string().max(4000)).default({}),
  /** Whether to show wires too that the provider does not speak. */
  everyWire: z.boolean().default(false),
});

export type Order = z.output<typeof crossingOrder>;
