/** The configuration in force, what a reload would change, and what a reload did. */
import { z } from 'zod';
import { time, type Reply } from './values.ts';

const value = z.union([z.string(), z.number(), z.boolean(), z.null()]).optional().meta({
  description: 'Left out if it is secret.',
});
const option = z
  .object({ path: z.string(), value, isDefault: z.boolean(), isSecret: z.boolean() })
  .meta({ title: 'Option' });
export type Option = Reply<z.output<typeof option>>;
const change = z
  .object({ path: z.string(), before: value, after: value, isSecret: z.boolean() })
  .meta({ title: 'OptionChange' });
export type OptionChange = Reply<z.output<typeof change>>;
const fault = z.string().optional().meta({ description: 'Why the new configuration is refused.' });
const waiting = z.array(z.string()).meta({ description: 'Settings that wait for the next start.' });
const warnings = z.array(z.string());

export const configView = z.object({
  file: z.string(),
  dataFolder: z.string(),
  version: z.string(),
  node: z.string(),
  workers: z.int(),
  readAt: time,
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
export type ConfigView = Reply<z.output<typeof configView>>;

const changes = z.object({
  settings: z.array(change),
  added: z.array(z.string()),
  removed: z.array(z.string()),
  isReordered: z.boolean(),
  changed: z.array(z.object({ plugin: z.string(), options: z.array(change) })),
});

export const configCheck = z.object({
  ok: z.boolean(),
  fault,
  changes: changes.optional(),
  warnings,
  waiting,
});
export type ConfigCheck = Reply<z.output<typeof configCheck>>;

export const reloaded = z.object({ ok: z.boolean(), fault, waiting, workers: z.int() });
export type Reloaded = Reply<z.output<typeof reloaded>>;
