/**
 * Gets a metric, or creates it. A reload applies the plugins again, and counters must keep their values.
 */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

export function defineCounter<Label extends string = never>(
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

/**
 * A counter of one label whose values are known. Each begins at 0: an alert does not see the first increase
 * of a series that appears with it.
 */
export function defineKnownCounter<Label extends string>(
  registry: Registry,
  { name, help, label, values }: { name: string; help: string; label: Label; values: readonly string[] },
): Counter<Label> {
  const made = defineCounter(registry, name, help, [label]);
  for (const value of values) made.labels(value).inc(0);
  return made;
}

export function defineHistogram<Label extends string = never>(
  registry: Registry,
  name: string,
  help: string,
  { buckets, labelNames = [] }: { buckets: number[]; labelNames?: Label[] },
): Histogram<Label> {
  const existing = registry.getSingleMetric(name);
  return existing instanceof Histogram
    ? existing
    : new Histogram({ name, help, labelNames, buckets, registers: [registry] });
}

interface GaugeOptions<Label extends string> {
  /**
   * How the values of several workers are combined: `sum` if each has its own part, otherwise the largest or
   * smallest.
   */
  readonly together?: 'sum' | 'max' | 'min';
  readonly labelNames?: Label[];
}

export function defineGauge<Label extends string = never>(
  registry: Registry,
  name: string,
  help: string,
  { together = 'sum', labelNames = [] }: GaugeOptions<Label> = {},
): Gauge<Label> {
  const existing = registry.getSingleMetric(name);
  return existing instanceof Gauge
    ? existing
    : new Gauge({ name, help, labelNames, aggregator: together, registers: [registry] });
}
