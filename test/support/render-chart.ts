/**
 * `npm run helm`: lints the chart, renders its sets of values, and compares the output with what is
 * committed; `-- --update` writes it. All manifests are checked against the schemas of the oldest Kubernetes
 * that the chart supports and of the newest known here. It needs Go and Python, which bring Helm and the
 * schemas.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { cache, chart, installHelm, run } from './helm-program.ts';

const schemasVersion = '1.37.0';
const kubernetesVersions = ['1.30.0', '1.37.0'];

/** Unpacks the JSON schemas of Kubernetes, which a package of PyPI has. */
function installSchemas(): string {
  const folder = join(cache, `kubernetes-validate-${schemasVersion}`);
  const wheel = `kubernetes_validate-${schemasVersion}-py3-none-any.whl`;
  if (!existsSync(join(folder, 'kubernetes_validate'))) {
    mkdirSync(folder, { recursive: true });
    const wanted = `kubernetes-validate==${schemasVersion}`;
    run('python3', ['-m', 'pip', 'download', '--quiet', '--no-deps', '--dest', folder, wanted]);
    run('python3', ['-m', 'zipfile', '--extract', join(folder, wheel), folder]);
  }
  return join(folder, 'kubernetes_validate/kubernetes-json-schema');
}

const kindSchema = z.object({ apiVersion: z.string(), kind: z.string() });

/** The name of a kind's schema: `deployment-apps-v1`. Undefined for what others add to Kubernetes. */
function nameSchema(manifest: unknown): string | undefined {
  const { apiVersion, kind } = kindSchema.parse(manifest);
  const [version, group = ''] = apiVersion.split('/').toReversed();
  if (group.includes('.') && !group.endsWith('.k8s.io')) return undefined;
  return [kind.toLowerCase(), group.split('.')[0], version].filter(Boolean).join('-');
}

/** What the schemas of a version say against the manifests of a set. */
function listFaults(rendered: string, version: string, schemas: string): string[] {
  const folder = join(schemas, `v${version}-local-strict`);
  const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false });
  ajv.addSchema(JSON.parse(readFileSync(join(folder, '_definitions.json'), 'utf8')));
  const checks = new Map<string, ValidateFunction>();
  return parseAllDocuments(rendered).flatMap((document) => {
    const manifest: unknown = document.toJS();
    const name = manifest === null ? undefined : nameSchema(manifest);
    if (name === undefined) return [];
    const check = checks.getOrInsertComputed(name, () =>
      ajv.compile(JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8'))),
    );
    return check(manifest) ? [] : [`${name} of Kubernetes ${version}: ${ajv.errorsText(check.errors)}`];
  });
}

/** Values that do not fit together, each with how the refusal begins. */
const refused = [
  ['replicas=2', 'ledger.postgres.name is empty: several gateways'],
  ['autoscaling.enabled=true', 'ledger.postgres.name is empty: several gateways'],
  ['ledger.postgres.name=a', 'secrets.dataKey.name is empty: a ledger in PostgreSQL'],
  ['ledger.postgres.name=a,secrets.dataKey.name=a,replicas=2', 'secrets.operator.name is empty: several'],
  ['config.files.a=b', 'config.files has no gateway.config.ts'],
  ['config.files.a=b,config.existing=c', 'config.files and config.existing exclude each other'],
  ['ingress.enabled=true', 'ingress.host is empty: an ingress'],
  ['replica=2', "additional properties 'replica' not allowed"],
];

/** The values that the chart renders although it should refuse them. */
function listAccepted(helm: string): string[] {
  return refused.flatMap(([set = '', message = '']) => {
    const { stderr } = spawnSync(helm, ['template', chart, '--set', set], { encoding: 'utf8' });
    return stderr.includes(message) ? [] : [`--set ${set} is not refused with "${message}": ${stderr}`];
  });
}

const helm = installHelm();
const schemas = installSchemas();
const faults = listAccepted(helm);
mkdirSync(join(chart, 'rendered'), { recursive: true });
for (const file of globSync('sets/*.yaml', { cwd: chart }).toSorted()) {
  const [values, kept] = [join(chart, file), join(chart, 'rendered', basename(file))];
  run(helm, ['lint', '--strict', '--quiet', '--values', values, chart]);
  const rendered = run(helm, ['template', 'tollgate', chart, '--namespace', 'tollgate', '--values', values]);
  const found = kubernetesVersions.flatMap((version) => listFaults(rendered, version, schemas));
  faults.push(...found.map((fault) => `${file}: ${fault}`));
  if (process.argv.includes('--update')) writeFileSync(kept, rendered);
  else if (!existsSync(kept) || readFileSync(kept, 'utf8') !== rendered)
    faults.push(`${file}: the output differs from ${kept}; npm run helm -- --update writes it`);
}
process.stdout.write(faults.map((fault) => `${fault}\n`).join('') || 'The chart renders as committed.\n');
if (faults.length > 0) process.exitCode = 1;
