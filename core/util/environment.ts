/** Reads environment variables as defaults for options. */
import { z } from 'zod';
import { longestDeadline } from './timeouts.ts';

/**
 * Reads a variable and checks it like the option it replaces. An empty variable, which compose files produce,
 * counts as unset. A final line break, which secret files have, is ignored. Errors name the variable, never
 * its value.
 */
export function readEnvironment<Value>(variable: string, schema: z.ZodType<Value>): Value | undefined {
  const text = process.env[variable]?.trim();
  if (!text) return undefined;
  const checked = schema.safeParse(text);
  if (!checked.success)
    throw new Error(
      `${variable}: ${[...new Set(checked.error.issues.map(({ message }) => message))].join('; ')}`,
    );
  return checked.data;
}

/** A port number; 0 means any free port. */
export const portText = z
  .string()
  .refine((text) => /^\d+$/.test(text) && Number(text) <= 65_535, 'must be a port, from 0 to 65535')
  .transform(Number);

/** A whole number, as of proxies in front. */
export const countText = z
  .string()
  .regex(/^\d{1,9}$/, 'must be a whole number')
  .transform(Number);

export const secondsText = z
  .string()
  .refine(
    (text) => Number(text) > 0 && Number(text) <= longestDeadline,
    `must be a number of seconds above 0 and at most ${longestDeadline}`,
  )
  .transform(Number);
