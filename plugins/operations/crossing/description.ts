/** What the routes of crossings take and return, for the OpenAPI document. */
import { z } from 'zod';
import { lossCodes } from '../../../core/index.ts';
import { json } from '../../shared/operator-description.ts';
import type { Descriptions } from '../../shared/operator-routes.ts';
import { crossingOrder } from './order.ts';

const errorReply = z.object({ status: z.int(), body: z.unknown() }).optional().meta({
  description: 'The reply to the client, if it gets an error.',
});

const shownCrossing = z
  .object({
    provider: z.string(),
    model: z.string(),
    wire: z.string(),
    isChosen: z.boolean().meta({ description: 'Whether a call would go this way.' }),
    isSpoken: z.boolean().meta({ description: 'Whether the provider has an endpoint for this wire.' }),
    lane: z.enum(['verbatim', 'translated', 'estimated']).optional(),
    request: z
      .object({
        method: z.string(),
        url: z.string().optional(),
        headers: z.record(z.string(), z.string()),
        body: z.string(),
      })
      .optional()
      .meta({ description: 'What is sent, without the credential of the provider.' }),
    losses: z.array(z.object({ path: z.string(), reason: z.string(), code: z.enum(lossCodes) })),
    error: errorReply,
  })
  .meta({ title: 'Crossing' });

const outcome = z.enum(['works', 'approximated', 'lost', 'refused']);
const capability = z.object({
  name: z.string(),
  cells: z.record(z.string(), z.record(z.string(), outcome)),
});

export const descriptions: Descriptions = {
  'POST /admin/crossing': {
    summary: 'What would be sent for a call',
    details:
      'Shows the request to each provider of the model, by each wire, and what is lost on the way. ' +
      'Nothing is sent, reserved or charged.',
    body: json(crossingOrder),
    replies: {
      200: json(
        z.object({
          protocol: z.string(),
          model: z.string().optional(),
          error: errorReply,
          crossings: z.array(shownCrossing),
          omitted: z.int().meta({ description: 'Crossings left out because there are too many.' }),
        }),
      ),
    },
  },
  'GET /admin/capabilities': {
    summary: 'What crosses between the protocols',
    details:
      'Outcomes by capability, the protocol of the client and the wire of the provider, ' +
      'as tests measured them.',
    replies: {
      200: json(
        z.object({
          groups: z.array(z.object({ name: z.string(), capabilities: z.array(capability) })),
        }),
      ),
    },
  },
};
