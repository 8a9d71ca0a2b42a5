/** The body of the errors of all routes for operators, for the OpenAPI document. */
import { z } from 'zod';

export const operatorError = z
  .object({ error: z.object({ code: z.string(), message: z.string(), param: z.string().nullable() }) })
  .meta({ title: 'OperatorError' });
