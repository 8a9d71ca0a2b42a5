/** What the routes of providers take and return, for the OpenAPI document. */
import { z } from 'zod';
import { json, time } from '../../shared/operator-description.ts';
import type { Descriptions } from '../../shared/operator-routes.ts';
import { placeOrder, restOrder, testOrder } from './orders.ts';

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

const overview = z
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

const finding = z.object({
  subject: z.string(),
  state: z.enum(['well', 'note', 'fault']),
  message: z.string(),
  remedy: z.string().optional(),
});
const tested = z.object({
  provider: z.string(),
  results: z.array(
    z.object({ key: z.int(), ok: z.boolean(), milliseconds: z.int(), findings: z.array(finding) }),
  ),
});

const changed = { replies: { 200: json(overview) } };

export const descriptions: Descriptions = {
  'GET /admin/providers': { ...changed, summary: 'Health of all providers, as the router sees it' },
  'POST /admin/providers/:provider/rest': {
    ...changed,
    summary: 'Take a provider, a key or a model out of service for a while',
    body: json(restOrder),
  },
  'POST /admin/providers/:provider/wake': {
    ...changed,
    summary: 'End a rest and close the circuit',
    body: json(placeOrder.optional()),
  },
  'POST /admin/providers/:provider/test': {
    summary: 'Ask a provider whether it is there and accepts the key; costs nothing',
    body: json(testOrder.optional()),
    replies: { 200: json(tested) },
  },
};
