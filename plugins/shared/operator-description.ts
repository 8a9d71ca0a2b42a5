/** What several routes for operators take and return, for the OpenAPI document. */
import { z } from 'zod';
import type { Content } from '../../core/index.ts';

export const csv: Content = { 'text/csv': z.string() };

export function describeJson(schema: z.ZodType): Content {
  return { 'application/json': schema };
}

/** The body of errors. */
export const operatorError = z
  .object({ error: z.object({ code: z.string(), message: z.string(), param: z.string().nullable() }) })
  .meta({ title: 'OperatorError' });
