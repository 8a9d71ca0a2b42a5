/** What the metrics' page gives, for the document that describes the gateway. */
import { z } from 'zod';
import type { Description } from '../../../core/index.ts';

export const metricsPage: Description = {
  summary: 'Metrics, for Prometheus',
  replies: { 200: { 'text/plain': z.string() } },
  error: z.object({ error: z.string() }).meta({ title: 'MetricsError' }),
};
