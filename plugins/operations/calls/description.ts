/** What the look-up of a call returns, for the OpenAPI document. */
import { z } from 'zod';
import type { Description } from '../../../core/index.ts';
import { operatorError } from '../../shared/operator-description.ts';
import { callRecord } from '../../shared/replies/calls.ts';
import { errorSchema } from '../../shared/wire-kit/reply-schemas.ts';

export const oneCall: Description = {
  summary: 'What became of a call',
  details: 'By the id its reply carried in `x-request-id`, for the key that made it.',
  replies: { 200: { 'application/json': callRecord } },
  error: errorSchema,
};

export const liveCalls: Description = {
  summary: 'Calls as they start and end, as server-sent events',
  details:
    'Events are named `start` and `end`; the data of each is a list of calls. ' +
    'A client that reads too slowly gets `dropped`.',
  replies: { 200: { 'text/event-stream': z.array(z.looseObject({ id: z.string() })) } },
  error: operatorError,
};
