/** What would be sent for a call, and what crosses between the protocols. */
import { z } from 'zod';
import { loss } from './calls.ts';
import type { Reply } from './values.ts';

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
    losses: z.array(loss),
    error: errorReply,
  })
  .meta({ title: 'Crossing' });
export type Crossing = Reply<z.output<typeof shownCrossing>>;

export const crossingPreview = z.object({
  protocol: z.string(),
  model: z.string().optional(),
  error: errorReply,
  crossings: z.array(shownCrossing),
  omitted: z.int().meta({ description: 'Crossings left out because there are too many.' }),
});
export type CrossingPreview = Reply<z.output<typeof crossingPreview>>;

const outcome = z.enum(['works', 'approximated', 'lost', 'refused']);
const capability = z.object({
  name: z.string(),
  cells: z.record(z.string(), z.record(z.string(), outcome)),
});
export const capabilities = z.object({
  groups: z.array(z.object({ name: z.string(), capabilities: z.array(capability) })),
});
export type Capabilities = Reply<z.output<typeof capabilities>>;
