/** The health of providers as the router sees it, and what a test of their keys found. */
import { z } from 'zod';
import { time, type Reply } from './values.ts';

const figures = {
  attempts: z.int(),
  failed: z.int(),
  retryShare: z.number().meta({ description: 'Share of the attempts that repeat one at the same target.' }),
  firstEventMs: z.object({ p50: z.int().nullable(), p95: z.int().nullable() }),
};

const target = z
  .object({
    key: z.int(),
    model: z.string(),
    state: z.enum(['well', 'resting', 'failing', 'testing', 'held']),
    until: time.nullable(),
    reason: z.object({ code: z.string(), message: z.string() }).nullable(),
    ...figures,
    lastErrors: z.array(
      z.object({ at: time, code: z.string(), status: z.int().nullable(), message: z.string() }),
    ),
  })
  .meta({ title: 'TargetHealth' });
export type TargetHealth = Reply<z.output<typeof target>>;

export const providerHealth = z
  .object({
    since: time.meta({ description: 'Figures are counted from here.' }),
    workers: z.int(),
    providers: z.array(
      z.object({
        provider: z.string(),
        protocols: z.array(z.string()),
        models: z.int(),
        keys: z.int(),
        canTest: z.boolean(),
        state: z.enum(['idle', 'well', 'partly', 'failing', 'held']),
        ...figures,
        holds: z.array(
          z.object({
            key: z.int().nullable(),
            model: z.string().nullable(),
            until: time,
            reason: z.string().nullable(),
          }),
        ),
        targets: z.array(target).meta({ description: 'Targets that had a call.' }),
      }),
    ),
  })
  .meta({ title: 'ProviderHealth' });
export type ProviderHealth = Reply<z.output<typeof providerHealth>>;

const finding = z.object({
  subject: z.string(),
  state: z.enum(['well', 'note', 'fault']),
  message: z.string(),
  remedy: z.string().optional(),
});
export const providerTest = z.object({
  provider: z.string(),
  results: z.array(
    z.object({ key: z.int(), ok: z.boolean(), milliseconds: z.int(), findings: z.array(finding) }),
  ),
});
export type ProviderTest = Reply<z.output<typeof providerTest>>;
