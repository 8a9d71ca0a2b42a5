/** What the page of metrics returns, for the OpenAPI document. */
import { z } from 'zod';
import type { Description } from '../../../core/index.ts';

export const metricsPage: Description = {
  summary: 'Metrics, for Prometheus',
  replies: { 200: { 'text/plain': z.string() } },
  error: z.object({ error: z.string() }).meta({ title: 'MetricsError' }),
};
