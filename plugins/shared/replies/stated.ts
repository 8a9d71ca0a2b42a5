/** What became of an account, a key or a budget whose state an operator stated. */
import { z } from 'zod';

export const stated = z
  .object({
    kind: z.enum(['account', 'key', 'budget']),
    name: z.string(),
    id: z.union([z.string(), z.int()]).nullable().meta({ description: 'Of a key or a budget that exists.' }),
    made: z.boolean().meta({ description: 'Whether it is new.' }),
    changed: z.boolean(),
    dryRun: z.boolean(),
    changes: z.array(z.object({ path: z.string(), before: z.unknown(), after: z.unknown() })),
    key: z.string().optional().meta({ description: 'The secret of a new key. It is shown only here.' }),
  })
  .meta({ title: 'Stated' });
