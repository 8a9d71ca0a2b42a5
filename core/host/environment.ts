/** What the environment says where an option is left open. */
import { z } from 'zod';
import { longestDeadline } from '../util/deadlines.ts';

/**
 * A variable, checked as the option is that it stands for. One that is set to nothing, as compose files do,
 * is not set; the line break that a file of secrets ends in is no part of it. What is wrong is told by the
 * variable's name, never its text.
 */
export function fromEnvironment<Value>(variable: string, schema: z.ZodType<Value>): Value | undefined {
  const text = process.env[variable]?.trim();
  if (!text) return undefined;
  const checked = schema.safeParse(text);
  if (!checked.success)
    throw new Error(
      `${variable}: ${[...new Set(checked.error.issues.map(({ message }) => message))].join('; ')}`,
    );
  return checked.data;
}

/** A port, as a variable has it; 0 is any that is free. */
export const portText = z
  .string()
  .refine((text) => /^\d+$/.test(text) && Number(text) <= 65_535, 'has to be a port, from 0 to 65535')
  .transform(Number);

/** Seconds, as a variable has them. */
export const secondsText = z
  .string()
  .refine(
    (text) => Number(text) > 0 && Number(text) <= longestDeadline,
    `has to be a number of seconds above 0, ${longestDeadline} at most`,
  )
  .transform(Number);
