/** What the routes of the configuration return, for the OpenAPI document. */
import { z } from 'zod';
import { json } from '../../shared/operator-description.ts';
import type { Descriptions } from '../../shared/operator-routes.ts';

const value = z.union([z.string(), z.number(), z.boolean(), z.null()]).optional().meta({
  description: 'Left out if it is secret.',
});
const option = z
  .object({ path: z.string(), value, isDefault: z.boolean(), isSecret: z.boolean() })
  .meta({ title: 'Option' });
const change = z
  .object({ path: z.string(), before: value, after: value, isSecret: z.boolean() })
  .meta({ title: 'OptionChange' });
const fault = z.string().optional().meta({ description: 'Why the new configuration is refused.' });
const waiting = z.array(z.string()).meta({ description: 'Settings that wait for the next start.' });
const warnings = z.array(z.string());

const view = z.object({
  file: z.string(),
  dataFolder: z.string(),
  version: z.string(),
  node: z.string(),
  workers: z.int(),
  readAt: z.iso.datetime(),
  settings: z.array(option),
  plugins: z.array(
    z.object({
      name: z.string(),
      off: z.string().optional().meta({ description: 'What switches it on.' }),
      options: z.array(option),
    }),
  ),
  warnings,
});

const changes = z.object({
  settings: z.array(change),
  added: z.array(z.string()),
  removed: z.array(z.string()),
  isReordered: z.boolean(),
  changed: z.array(z.object({ plugin: z.string(), options: z.array(change) })),
});

export const descriptions: Descriptions = {
  'GET /admin/config': {
    summary: 'The configuration in force, without secrets',
    replies: { 200: json(view) },
  },
  'POST /admin/config/check': {
    summary: 'What a reload would change',
    replies: {
      200: json(z.object({ ok: z.boolean(), fault, changes: changes.optional(), warnings, waiting })),
    },
  },
  'POST /admin/reload': {
    summary: 'Read the configuration again, in all workers',
    details:
      'Modules of your own are read again too. ' +
      'Packages and the gateway keep their code until the next start.',
    replies: { 200: json(z.object({ ok: z.boolean(), fault, waiting, workers: z.int() })) },
  },
};
