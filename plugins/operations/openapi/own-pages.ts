/**
 * Descriptions of the pages that belong to no protocol and no other plugin: health, and the document itself.
 */
import { z } from 'zod';
import type { Description } from '../../../core/index.ts';
import { errorSchema } from '../../shared/wire-kit/reply-schemas.ts';

const wrapSchema = (schema: z.ZodType) => ({ 'application/json': schema });

export const document: Description = {
  summary: 'This description of the gateway',
  replies: { 200: wrapSchema(z.looseObject({ openapi: z.string() })) },
  error: errorSchema,
};

export const page: Description = {
  summary: 'This description, to be read in a browser',
  replies: { 200: { 'text/html': z.string() } },
  error: errorSchema,
};

export const health: Description = {
  summary: 'Whether the process lives',
  replies: { 200: wrapSchema(z.object({ status: z.literal('ok') })) },
  error: errorSchema,
};

export const readiness: Description = {
  summary: 'Whether it should be given calls',
  replies: {
    200: wrapSchema(z.object({ status: z.literal('ready') })),
    503: wrapSchema(z.object({ status: z.literal('not ready'), faults: z.array(z.string()) })),
  },
  error: errorSchema,
};
