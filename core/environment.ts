/** What the environment says where an option is left open. */
import type { z } from 'zod';

/**
 * A variable, checked as the option is that it stands for. One that is set to nothing, as compose files do, is not set;
 * the line break that a file of secrets ends in is no part of it. What is wrong is told by the variable's name, never its text.
 */
export function fromEnvironment<Value>(variable: string, schema: z.ZodType<Value>): Value | undefined {
  const text = process.env[variable]?.trim();
  if (!text) return undefined;
  const checked = schema.safeParse(text);
  if (!checked.success) throw new Error(`${variable}: ${[...new Set(checked.error.issues.map(({ message }) => message))].join('; ')}`);
  return checked.data;
}
