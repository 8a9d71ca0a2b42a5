/**
 * Gets a metric, or makes it where it does not exist yet. A reload applies the plugins again, and counters must go on
 * from where they were.
 */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

export function counter<Label extends string = never>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: Label[] = [],
): Counter<Label> {
  const existing = registry.getSingleMetric(name);
  return existing instanceof Counter
    ? existing
    : new Counter({ name, help, labelNames, registers: [registry] });
}

export function histogram<Label extends string = never>(
  registry: Registry,
  name: string,
  help: string,
  buckets: number[],
  labelNames: Label[] = [],
): Histogram<Label> {
  const existing = registry.getSingleMetric(name);
  return existing instanceof Histogram
    ? existing
    : new Histogram({ name, help, labelNames, buckets, registers: [registry] });
}

/** `together` says how the values of several workers are combined: added, where each knows its own part, or otherwise the largest or smallest. */
export function gauge<Label extends string = never>(
  registry: Registry,
  name: string,
  help: string,
  together: 'sum' | 'max' | 'min' = 'sum',
  labelNames: Label[] = [],
): Gauge<Label> {
  const existing = registry.getSingleMetric(name);
  return existing instanceof Gauge
    ? existing
    : new Gauge({ name, help, labelNames, aggregator: together, registers: [registry] });
}
