/**
 * Every metric that the dashboard, the alerts and the README name is on the `/metrics` of a gateway with its
 * default configuration, with the labels they use, and the README omits none of the gateway's own.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parser } from '@prometheus-io/lezer-promql';
import { beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { makeDataFolder, startProcess, type RunningGateway } from '../support/process.ts';

const root = join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

const dashboard = z.object({
  panels: z.array(
    z.object({ title: z.string(), targets: z.array(z.object({ expr: z.string() })).default([]) }),
  ),
});
const alerts = z.object({
  groups: z.array(
    z.object({
      rules: z.array(
        z.object({
          alert: z.string(),
          expr: z.string(),
          annotations: z.object({ summary: z.string(), action: z.string() }),
        }),
      ),
    }),
  ),
});

/** What an expression reads: names of series, and labels it selects or groups by. */
function readExpression(expression: string): { names: string[]; labels: string[] } {
  const text = expression.replaceAll('$__rate_interval', '5m');
  const names: string[] = [];
  const labels: string[] = [];
  parser.parse(text).iterate({
    enter(node) {
      const said = text.slice(node.from, node.to);
      expect(node.type.isError, `"${text}" is no PromQL at ${node.from}`).toBe(false);
      if (node.name === 'Identifier' && node.node.parent?.name === 'VectorSelector') names.push(said);
      if (node.name === 'LabelName') labels.push(said);
    },
  });
  return { names, labels };
}

/** Names as they are declared: a histogram's series are its name with a suffix. */
function omitSuffix(name: string): string {
  return name.replace(/_(bucket|sum|count)$/, '');
}

let gateway: RunningGateway;
let text: string;
beforeAll(async () => {
  gateway = await startProcess({ TOLLGATE_DATA: makeDataFolder() });
  const key = /sk-[\w-]+/.exec(gateway.printed())?.[0] ?? '';
  for (const [authorization, stream] of [
    [`Bearer ${key}`, true],
    [`Bearer ${key}`, false],
    ['Bearer sk-unknown', false],
  ] as const) {
    const body = JSON.stringify({
      model: 'demo/echo',
      stream,
      messages: [{ role: 'user', content: 'Hello!' }],
    });
    await (
      await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body,
      })
    ).text();
  }
  text = await (await fetch(`${gateway.url}/metrics`)).text();
});

function listOffered(): Set<string> {
  return new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name));
}

/** The README's table: a name, its labels, its meaning. */
const documented = new Map(
  [...read('plugins/operations/README.md').matchAll(/^\| `(tollgate_\w+)` \| ([^|]*) \|/gm)].map(
    ([, name = '', labels = '']) => [name, [...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label)],
  ),
);

const expressions = [
  ...dashboard
    .parse(JSON.parse(read('examples/grafana/dashboard.json')))
    .panels.flatMap(({ title, targets }) =>
      targets.map(({ expr }) => [`dashboard: ${title}`, expr] as const),
    ),
  ...alerts
    .parse(parse(read('examples/prometheus/alerts.yaml')))
    .groups.flatMap(({ rules }) => rules.map(({ alert, expr }) => [`alert: ${alert}`, expr] as const)),
];

it.each(expressions)('the metrics in dashboards and alerts %s reads metrics that exist', (_, expression) => {
  const { names, labels } = readExpression(expression);
  expect(names.length).toBeGreaterThan(0);
  for (const name of names) expect([...listOffered()]).toContain(omitSuffix(name));
  const known = new Set(['le', ...names.flatMap((name) => documented.get(omitSuffix(name)) ?? [])]);
  for (const label of labels) expect([...known]).toContain(label);
});

it('the metrics in dashboards and alerts are all documented', () => {
  const own = [...listOffered()].filter((name) => name.startsWith('tollgate_'));
  expect(own.toSorted()).toEqual([...documented.keys()].toSorted());
});

it('the metrics in dashboards and alerts have the documented labels, and no others', () => {
  for (const [, name = '', labels = ''] of text.matchAll(/^(tollgate_\w+)\{(.*)\} /gm)) {
    const texts = [...labels.matchAll(/(\w+)="/g)]
      .map(([, label = '']) => label)
      .filter((label) => label !== 'le');
    expect(texts, name).toEqual(documented.get(omitSuffix(name)));
  }
});
