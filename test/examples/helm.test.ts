/**
 * The Helm chart, without Helm: its values against their schema, and what it renders for three sets of them
 * against the gateway that it starts and against itself. `npm run helm` renders again.
 */
import { globSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { settingsSchema } from '../../core/config.ts';
import { openDatabase } from '../support/database.ts';
import { ends, findLast, findUnread, folder, readDeployed } from '../support/deployment.ts';
import { waitUntil } from '../support/operated.ts';
import { postJson } from '../support/post.ts';
import { makeDataFolder, runAlone, startProcess } from '../support/process.ts';

const labels = z.record(z.string(), z.string());
const probe = z.looseObject({ httpGet: z.object({ path: z.string(), port: z.string() }) });
const variableSchema = z.union([
  z.strictObject({ name: z.string(), value: z.string() }),
  z.strictObject({
    name: z.string(),
    valueFrom: z.strictObject({ secretKeyRef: z.strictObject({ name: z.string(), key: z.string() }) }),
  }),
]);
const containerSchema = z.looseObject({
  args: z.array(z.string()).optional(),
  image: z.string(),
  env: z.array(variableSchema),
  envFrom: z.array(z.strictObject({ secretRef: z.object({ name: z.string() }) })).optional(),
  ports: z.array(z.object({ name: z.string(), containerPort: z.int() })).optional(),
  startupProbe: probe.optional(),
  livenessProbe: probe.optional(),
  readinessProbe: probe.optional(),
  lifecycle: z.object({ preStop: z.object({ sleep: z.object({ seconds: z.int().positive() }) }) }).optional(),
  resources: z.object({ requests: labels, limits: labels }),
  securityContext: z.strictObject({
    allowPrivilegeEscalation: z.literal(false),
    readOnlyRootFilesystem: z.literal(true),
    capabilities: z.object({ drop: z.tuple([z.literal('ALL')]) }),
  }),
  volumeMounts: z.array(z.looseObject({ name: z.string(), mountPath: z.string() })),
});
const podSchema = z.looseObject({
  terminationGracePeriodSeconds: z.int().optional(),
  automountServiceAccountToken: z.literal(false),
  securityContext: z.looseObject({
    runAsNonRoot: z.literal(true),
    runAsUser: z.int(),
    runAsGroup: z.int(),
    seccompProfile: z.object({ type: z.literal('RuntimeDefault') }),
  }),
  topologySpreadConstraints: z
    .array(z.looseObject({ labelSelector: z.object({ matchLabels: labels }) }))
    .optional(),
  containers: z.tuple([containerSchema]),
  volumes: z.array(
    z.looseObject({
      name: z.string(),
      persistentVolumeClaim: z.object({ claimName: z.string() }).optional(),
      configMap: z.object({ name: z.string() }).optional(),
      secret: z.looseObject({ secretName: z.string() }).optional(),
    }),
  ),
});
const port = z.looseObject({ port: z.union([z.int(), z.string()]) });
/** What manifests say that others of the set, or the gateway, must agree with. */
const specSchema = z.looseObject({
  replicas: z.int().optional(),
  strategy: z.looseObject({ type: z.string().optional() }).optional(),
  selector: z.union([z.object({ matchLabels: labels }), labels]).optional(),
  podSelector: z.object({ matchLabels: labels }).optional(),
  template: z
    .object({ metadata: z.object({ labels, annotations: labels.optional() }), spec: podSchema })
    .optional(),
  scaleTargetRef: z.object({ kind: z.string(), name: z.string() }).optional(),
  ports: z.array(z.looseObject({ name: z.string(), targetPort: z.string() })).optional(),
  ingress: z.array(z.looseObject({ ports: z.array(port), from: z.array(z.unknown()).optional() })).optional(),
  egress: z.array(z.looseObject({ ports: z.array(port), to: z.array(z.unknown()).optional() })).optional(),
});
const manifestSchema = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), labels, annotations: labels.optional() }),
  spec: specSchema.optional(),
  data: labels.optional(),
});
type Manifest = z.output<typeof manifestSchema>;

const chart = join(folder, 'helm');

/** The manifests of a set, by kind and name. */
function readRendered(set: string): Map<string, Manifest> {
  const documents = parseAllDocuments(readDeployed(`helm/rendered/${set}.yaml`));
  const manifests = documents.map((document) => document.toJS()).filter((each) => each !== null);
  return new Map(
    manifests
      .map((manifest) => manifestSchema.parse(manifest))
      .map((manifest) => [`${manifest.kind} ${manifest.metadata.name}`, manifest]),
  );
}

/** The pod of a set's deployment or job, and its container. */
function findPod(manifests: ReadonlyMap<string, Manifest>, name: string) {
  const template = manifests.get(name)?.spec?.template;
  if (!template) throw new Error(`there is no ${name}`);
  const [container] = template.spec.containers;
  return { template, pod: template.spec, container };
}

const gatewayName = 'Deployment tollgate';
const jobName = 'Job tollgate-migration';

const sets = globSync('sets/*.yaml', { cwd: chart }).map((path) => basename(path, '.yaml'));
const values: unknown = parse(readDeployed('helm/values.yaml'));
const schema: object = JSON.parse(readDeployed('helm/values.schema.json'));

/** Paths of an object's values, down to where the schema lets users choose the names. */
function listPaths(value: unknown, name = ''): string[] {
  const isBranch = typeof value === 'object' && value !== null && !Array.isArray(value);
  const entries = isBranch ? Object.entries(value) : [];
  return entries.length === 0 ? [name] : entries.flatMap(([key, part]) => listPaths(part, `${name}/${key}`));
}

const propertiesSchema = z.looseObject({ properties: z.record(z.string(), z.unknown()).optional() });

/** The paths of all values that a schema knows. */
function listKnown(part: unknown, name = ''): string[] {
  const { properties, $ref } = propertiesSchema.extend({ $ref: z.string().optional() }).parse(part);
  if ($ref === '#/definitions/secretKey') return [`${name}/name`, `${name}/key`];
  if (!properties || name === '/resources') return [name];
  return Object.entries(properties).flatMap(([key, each]) => listKnown(each, `${name}/${key}`));
}

it('the chart has the version of the package, and a rendered file for each set of values', () => {
  const { version }: { version: string } = JSON.parse(readDeployed('../../package.json'));
  expect(parse(readDeployed('helm/Chart.yaml'))).toMatchObject({ version, appVersion: version });
  expect(sets.toSorted()).toEqual(['cluster', 'locked-down', 'single']);
  expect(globSync('rendered/*.yaml', { cwd: chart }).length).toBe(sets.length);
});

it('the schema of the values knows each value, and no other', () => {
  const check = new Ajv({ strict: false }).compile(schema);
  const given = listPaths(values).map((path) => path.replace(/^\/resources\/.*/, '/resources'));
  expect([...new Set(given)].toSorted()).toEqual(
    listKnown(schema)
      .filter((path) => path !== '/global')
      .toSorted(),
  );
  for (const set of [values, ...sets.map((name): unknown => parse(readDeployed(`helm/sets/${name}.yaml`)))])
    expect([check(set), check.errors]).toEqual([true, null]);
  for (const wrong of [
    { replica: 2 },
    { environment: { PORT: '1' } },
    { secrets: { operator: { name: 'a', value: 'secret' } } },
    { image: { digest: 'latest' } },
    { replicas: 0 },
  ])
    expect([wrong, check(wrong)]).toEqual([wrong, false]);
});

describe.each(sets)('the set %s', (set) => {
  const manifests = readRendered(set);
  const gateway = findPod(manifests, gatewayName);
  const selected = gateway.template.metadata.labels;
  const pods = [gatewayName, ...(manifests.has(jobName) ? [jobName] : [])].map((name) =>
    findPod(manifests, name),
  );

  it('holds no secret, and takes each by a reference', () => {
    expect([...manifests.values()].filter(({ kind }) => kind === 'Secret')).toEqual([]);
    for (const { container } of pods)
      for (const variable of container.env)
        expect([variable.name, 'value' in variable]).toEqual([
          variable.name,
          !/SECRET|KEY|LEDGER_URL/.test(variable.name),
        ]);
  });

  it('sets variables that the gateway reads, each once', () => {
    const names = gateway.container.env.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(findUnread(names)).toEqual([]);
  });

  it('selects the pods of the gateway alone', () => {
    for (const [name, { spec = {} }] of manifests) {
      const chosen = spec.selector ?? spec.podSelector;
      if (!chosen || name.startsWith('ServiceMonitor')) continue;
      expect([name, 'matchLabels' in chosen ? chosen.matchLabels : chosen]).toEqual([name, selected]);
    }
    for (const { labelSelector } of gateway.pod.topologySpreadConstraints ?? [])
      expect(labelSelector.matchLabels).toEqual(selected);
    expect(selected['app.kubernetes.io/component']).toBe('gateway');
    expect(pods[1]?.template.metadata.labels['app.kubernetes.io/component'] ?? 'migration').toBe('migration');
  });

  it('leads to the ports that are listened on, and asks at their own addresses', () => {
    const { ports = [], env, startupProbe, livenessProbe, readinessProbe } = gateway.container;
    const numbers = Object.fromEntries(env.map((each) => [each.name, 'value' in each ? each.value : '']));
    expect(ports.map(({ name, containerPort }) => `${name} ${containerPort}`)).toEqual([
      `http ${numbers.PORT}`,
      `admin ${numbers.TOLLGATE_ADMIN_PORT}`,
    ]);
    expect([startupProbe, livenessProbe, readinessProbe].map((each) => each?.httpGet)).toEqual([
      { path: '/healthz', port: 'http' },
      { path: '/healthz', port: 'http' },
      { path: '/readyz', port: 'http' },
    ]);
    const service = manifests.get('Service tollgate')?.spec;
    expect(service?.ports?.map(({ targetPort }) => targetPort)).toEqual(['http']);
  });

  it('gives the gateway longer to stop than its pause and its drain take', () => {
    const { stop = {} } = z
      .looseObject({ stop: z.object({ drain: z.int().optional() }).optional() })
      .parse(parse(readDeployed(`helm/sets/${set}.yaml`)));
    const drain = stop.drain ?? settingsSchema.parse({ plugins: [] }).server.drain / 1000;
    const pause = gateway.container.lifecycle?.preStop.sleep.seconds ?? 0;
    expect(gateway.pod.terminationGracePeriodSeconds).toBeGreaterThan(pause + drain + ends);
  });

  it('runs as the user of the image, with the folders that it mounts', () => {
    for (const { pod, container } of pods) {
      const { runAsUser, runAsGroup } = pod.securityContext;
      expect(`${runAsUser}:${runAsGroup}`).toBe(findLast('USER'));
      expect(container.volumeMounts.map(({ name }) => name)).toEqual(pod.volumes.map(({ name }) => name));
      expect(container.volumeMounts.map(({ mountPath }) => mountPath).slice(0, 2)).toEqual(['/data', '/tmp']);
    }
  });
});

it('the set with SQLite has one gateway, whose ledger outlives the chart, and no job', () => {
  const manifests = readRendered('single');
  expect([...manifests.keys()].toSorted()).toEqual([
    'Deployment tollgate',
    'PersistentVolumeClaim tollgate',
    'Service tollgate',
    'Service tollgate-admin',
  ]);
  expect(manifests.get(gatewayName)?.spec).toMatchObject({ replicas: 1, strategy: { type: 'Recreate' } });
  expect(findPod(manifests, gatewayName).pod.volumes[0]?.persistentVolumeClaim?.claimName).toBe('tollgate');
  expect(manifests.get('PersistentVolumeClaim tollgate')?.metadata.annotations).toEqual({
    'helm.sh/resource-policy': 'keep',
  });
});

it('the sets with PostgreSQL bring the tables up to date before a gateway is replaced', () => {
  for (const set of ['cluster', 'locked-down']) {
    const manifests = readRendered(set);
    const [job, gateway] = [findPod(manifests, jobName), findPod(manifests, gatewayName)];
    expect(job.container.args).toEqual(['migrate']);
    expect(job.container.image).toBe(gateway.container.image);
    expect(job.container.env).toEqual(gateway.container.env);
    expect(manifests.get(jobName)?.metadata.annotations).toMatchObject({
      'helm.sh/hook': 'pre-install,pre-upgrade',
    });
    expect(gateway.pod.volumes[0]).toEqual({ name: 'data', emptyDir: {} });
    expect(manifests.get(gatewayName)?.spec?.strategy?.type).toBeUndefined();
  }
  // On an install the job's configuration has to be there before the gateways' own is.
  const config = readRendered('cluster').get('ConfigMap tollgate-migration');
  expect(config?.data).toEqual(readRendered('cluster').get('ConfigMap tollgate')?.data);
  expect(config?.metadata.annotations).toMatchObject({ 'helm.sh/hook-weight': '-1' });
});

it('the cluster grows and shrinks by its load, and Prometheus finds the service of calls alone', () => {
  const manifests = readRendered('cluster');
  const scaler = manifests.get('HorizontalPodAutoscaler tollgate')?.spec;
  expect(scaler?.scaleTargetRef).toMatchObject({ kind: 'Deployment', name: 'tollgate' });
  // A number here would undo what was scaled, with each upgrade.
  expect(manifests.get(gatewayName)?.spec?.replicas).toBeUndefined();
  const chosen = manifests.get('ServiceMonitor tollgate')?.spec?.selector ?? {};
  const wanted = Object.entries('matchLabels' in chosen ? chosen.matchLabels : {});
  const found = [...manifests.values()].filter(
    ({ kind, metadata }) =>
      kind === 'Service' && wanted.every(([name, text]) => metadata.labels[name] === text),
  );
  expect(found.map(({ metadata }) => metadata.name)).toEqual(['tollgate']);
});

it('the locked-down set lets only operators at the admin listener, and calls by the proxy alone', () => {
  const manifests = readRendered('locked-down');
  expect(manifests.has('Service tollgate-admin')).toBe(false);
  const { ingress = [], egress = [] } = manifests.get('NetworkPolicy tollgate')?.spec ?? {};
  const listPorts = (rules: typeof ingress) => rules.map(({ ports }) => ports.map((each) => each.port));
  expect(listPorts(ingress)).toEqual([[8787], [8788]]);
  expect(ingress.every(({ from = [] }) => from.length > 0)).toBe(true);
  expect(listPorts(egress)).toEqual([[53, 53], [5432], [3128]]);
  expect(findPod(manifests, gatewayName).container.image).toMatch(/@sha256:[0-9a-f]{64}$/);
});

/** Puts a ConfigMap as the kubelet does: each version in its own folder, behind a link that is replaced. */
function mountConfig(folder: string, version: number, files: Readonly<Record<string, string>>): void {
  mkdirSync(join(folder, `..v${version}`));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, `..v${version}`, name), text);
  symlinkSync(`..v${version}`, join(folder, '..data_tmp'));
  renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
  if (version > 1) return;
  for (const name of Object.keys(files)) symlinkSync(join('..data', name), join(folder, name));
}

it('the cluster starts after its job, and reads again what the kubelet has updated', async () => {
  const manifests = readRendered('cluster');
  const files = manifests.get('ConfigMap tollgate')?.data ?? {};
  const config = makeDataFolder();
  mountConfig(config, 1, files);
  const { url } = await openDatabase();
  const { container } = findPod(manifests, gatewayName);
  const plain = Object.fromEntries(
    container.env.flatMap((each) => ('value' in each ? [[each.name, each.value]] : [])),
  );
  const variables = {
    ...plain,
    TOLLGATE_CONFIG: join(config, 'gateway.config.ts'),
    TOLLGATE_DATA: makeDataFolder(),
    PORT: '0',
    TOLLGATE_ADMIN_PORT: '0',
    TOLLGATE_DATA_KEY: Buffer.alloc(32, 7).toString('base64'),
    TOLLGATE_OPERATOR_SECRET: 'one-that-all-gateways-of-the-cluster-share',
    OPENAI_API_KEY: 'sk-never-used',
    TOLLGATE_LEDGER_URL: url,
  };
  const job = await runAlone(findPod(manifests, jobName).container.args ?? [], variables);
  expect(job).toMatchObject({ code: 0, errors: '' });
  const gateway = await startProcess(variables);
  expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200);
  const { output } = await runAlone(['keys', 'create', '--credit', '1', '--json'], variables);
  const { key } = z.object({ key: z.string() }).parse(JSON.parse(output));
  const call = async (): Promise<number> => {
    const body = { model: 'house/echo', messages: [{ role: 'user', content: 'Hello!' }] };
    const headers = { authorization: `Bearer ${key}` };
    return (await postJson(`${gateway.url}/v1/chat/completions`, body, headers)).status;
  };
  expect(await call()).toBe(404);
  mountConfig(config, 2, { ...files, 'names.ts': "export const names = { 'house/echo': 'demo/echo' };" });
  await waitUntil(async () => (await call()) === 200);
  // The kubelet removes the folder that no link leads to.
  rmSync(join(config, '..v1'), { recursive: true });
  mountConfig(config, 3, files);
  await waitUntil(async () => (await call()) === 404);
  expect(gateway.printed()).not.toMatch(/First key|"level":[45]0/);
  expect((await gateway.stop('SIGTERM')).code).toBe(0);
});
