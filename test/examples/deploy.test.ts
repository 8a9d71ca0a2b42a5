/**
 * The files for containers, without any: they are parsed and held against the gateway they start (its ports,
 * probes, variables, drain), the Kubernetes manifests against each other too, and the Dockerfile is followed
 * step by step in an empty folder.
 */
import { execFile } from 'node:child_process';
import {
  globSync,
  readFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, basename } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, afterAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { loadConfig } from '../../core/cli/load-config.ts';
import type { Config } from '../../core/config.ts';
import { admin } from '../../plugins/operations/admin/index.ts';
import { findAdminUrl } from '../support/admin-url.ts';
import { openDatabase } from '../support/database.ts';
import {
  ends,
  environment,
  findLast,
  findUnread,
  folder,
  listInstalled,
  readDeployed,
  root,
  stages,
} from '../support/deployment.ts';
import { postJson } from '../support/post.ts';
import { runAlone, startProcess, type Copy } from '../support/process.ts';

let config: Config;

const computeStopTime = (): number => config.server.drain / 1000 + ends;

const variables = z.record(z.string(), z.string());

function openDeployment(): void {
  beforeAll(async () => {
    config = await loadConfig(join(root, 'gateway.config.ts'));
  });
}

openDeployment();

const run = promisify(execFile);
const words = z.array(z.string());

it('the Dockerfile builds in stages, on a Node the project runs on, pinned to its major version', () => {
  expect(stages.length).toBe(2);
  for (const [first] of stages)
    expect(Number(/^node:(\d+)-slim/.exec(first?.rest ?? '')?.[1])).toBeGreaterThanOrEqual(24);
});

it('the Dockerfile runs as somebody who is not root, by number', () => {
  expect(findLast('USER')).toMatch(/^[1-9]\d*:[1-9]\d*$/);
});

it('the Dockerfile sets variables that are read, and exposes both ports on all addresses', () => {
  expect(findUnread(Object.keys(environment))).toEqual([]);
  expect([environment.PORT, environment.TOLLGATE_ADMIN_PORT]).toEqual(['8787', '8788']);
  expect(findLast('EXPOSE')).toBe('8787 8788');
  expect([environment.HOST, environment.TOLLGATE_ADMIN_HOST]).toEqual(['0.0.0.0', '0.0.0.0']);
  expect(environment.TOLLGATE_DATA).toBe(findLast('VOLUME'));
});

it('the Dockerfile starts the gateway without a shell, which would keep signals from it', () => {
  expect(words.parse(JSON.parse(findLast('ENTRYPOINT')))[0]).toBe('node');
  expect(words.parse(JSON.parse(findLast('CMD')))).toEqual(['start']);
});

it('the Dockerfile copies nothing that its .dockerignore keeps out', () => {
  const allowed = readDeployed('Dockerfile.dockerignore')
    .split('\n')
    .filter((line) => line.startsWith('!'))
    .map((line) => line.slice(1));
  const copied = stages
    .flat()
    .filter(({ word, rest }) => word === 'COPY' && !rest.startsWith('--from'))
    .flatMap(({ rest }) => rest.split(' ').slice(0, -1));
  expect(copied.length).toBeGreaterThan(5);
  expect(copied.filter((path) => !allowed.includes(path))).toEqual([]);
  expect(allowed.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

describe('the steps of the Dockerfile, followed in an empty folder', () => {
  const place = mkdtempSync(join(tmpdir(), 'tollgate-image-'));
  const app: Copy = { entry: join(place, 'core/cli.js'), folder: place };
  afterAll(() => rmSync(place, { recursive: true, force: true }));

  /** What a COPY brings: a folder's content goes into the folder that is named. */
  function copy(rest: string): void {
    const paths = rest.split(' ');
    const to = paths.pop() ?? '';
    for (const path of paths) {
      const target = to.endsWith('/') ? join(place, to, basename(path)) : join(place, to);
      mkdirSync(join(target, '..'), { recursive: true });
      cpSync(join(root, path), target, { recursive: statSync(join(root, path)).isDirectory() });
    }
  }

  /** Links what npm installs for production, which takes npm eight seconds of processor time. */
  function linkPackages(): void {
    const installed = listInstalled(place);
    expect(installed).toEqual(expect.arrayContaining(['node_modules/koa', 'node_modules/@azure/identity']));
    for (const path of installed) {
      if (!/^node_modules\/(@[^/]+\/)?[^/]+$/.test(path)) continue;
      mkdirSync(join(place, path, '..'), { recursive: true });
      symlinkSync(join(root, path), join(place, path));
    }
  }

  /** What the image says of folders is true of this one; the ports are chosen at each start. */
  const { PORT: _, TOLLGATE_ADMIN_PORT: __, ...said } = environment;
  const set = {
    ...said,
    TOLLGATE_DATA: join(place, 'volume'),
    NODE_COMPILE_CACHE: join(place, basename(environment.NODE_COMPILE_CACHE ?? '')),
  };

  /** What Node keeps of the sources. */
  function listKept(): string[] {
    return globSync('*/*', { cwd: set.NODE_COMPILE_CACHE }).toSorted();
  }

  beforeAll(async () => {
    const { PATH = '', HOME = '' } = process.env;
    for (const { word, rest } of stages.flat()) {
      if (word === 'COPY' && !rest.startsWith('--from')) copy(rest);
      if (rest.startsWith('npm install --omit=dev --ignore-scripts ')) linkPackages();
      // The folders that it makes are made here when they are needed.
      else if (word === 'RUN' && !rest.startsWith('mkdir '))
        await run('sh', ['-c', rest], { cwd: place, env: { PATH, HOME, ...set } });
    }
  });

  /**
   * Expects that the steps have kept what Node makes of the sources. A thread that is ended as it loads does
   * not keep what it loaded, so they may miss a few files.
   */
  function expectKept(before: readonly string[]): void {
    expect(before.length).toBeGreaterThan(500);
    expect(before.length / listKept().length).toBeGreaterThan(0.9);
  }

  /** An address that only a listener on all addresses has; macOS has no second one of loopback. */
  const outside = process.platform === 'linux' ? '127.0.0.2' : 'localhost';

  /** Signs in at the console as a browser does that reaches the port through `docker run --publish`. */
  async function signIn(printed: string, secret: string): Promise<number> {
    const { port } = new URL(findAdminUrl(printed));
    const url = `http://${outside}:${port}`;
    const page = await fetch(`${url}/`);
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    return (await postJson(`${url}/console/session`, { secret }, { origin: url })).status;
  }

  it('make a gateway that compiles nothing, serves, passes its own check, and stops', async () => {
    expect(words.parse(JSON.parse(findLast('ENTRYPOINT')))).toEqual(['node', 'core/cli.js']);
    const before = listKept();
    const gateway = await startProcess(set, app);
    const [, program = ''] = /^.*? CMD (\[.*\])$/.exec(findLast('HEALTHCHECK')) ?? [];
    const [command, ...rest] = words.parse(JSON.parse(program));
    const { port } = new URL(gateway.url);
    expect(command).toBe('node');
    await run(process.execPath, rest, { env: { PORT: port } });
    await expect(run(process.execPath, rest, { env: { PORT: '9' } })).rejects.toMatchObject({ code: 1 });
    expect((await fetch(`http://${outside}:${port}/healthz`)).status).toBe(200);
    const secret = readFileSync(join(set.TOLLGATE_DATA, 'operator-secret'), 'utf8').trim();
    expect(await signIn(gateway.printed(), secret)).toBe(200);
    expect((await gateway.stop('SIGTERM')).code).toBe(0);
    expectKept(before);
  });

  it('make one that keeps its ledger in PostgreSQL, and compiles no source for that', async () => {
    const before = listKept();
    const { url, drop } = await openDatabase();
    const variables = {
      ...set,
      TOLLGATE_LEDGER_URL: url,
      TOLLGATE_DATA_KEY: Buffer.alloc(32, 7).toString('base64'),
      TOLLGATE_DATA: join(place, 'other'),
      TOLLGATE_FIRST_CREDIT: '0',
      TOLLGATE_OPERATOR_SECRET: 'one-that-all-gateways-of-the-cluster-share',
    };
    const gateway = await startProcess(variables, app);
    expect(gateway.printed()).not.toContain('First key');
    expect(await signIn(gateway.printed(), variables.TOLLGATE_OPERATOR_SECRET)).toBe(200);
    expect(existsSync(join(variables.TOLLGATE_DATA, 'operator-secret'))).toBe(false);
    expect(gateway.printed()).not.toContain(variables.TOLLGATE_OPERATOR_SECRET);
    const { output } = await runAlone(['keys', 'create', '--credit', '5', '--json'], variables, app);
    const { key } = z.object({ key: z.string() }).parse(JSON.parse(output));
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const reply = await postJson(
      `${gateway.url}/v1/chat/completions`,
      { model: 'demo/echo', messages: [{ role: 'user', content: 'Hello!' }] },
      headers,
    );
    expect([reply.status, (await fetch(`${gateway.url}/readyz`)).status]).toEqual([200, 200]);
    expect((await gateway.stop('SIGTERM')).code).toBe(0);
    expectKept(before);
    await drop();
  });
});

describe('the compose file', () => {
  const serviceSchema = z.looseObject({
    environment: variables,
    healthcheck: z.object({ test: z.array(z.string()) }).optional(),
  });
  const gatewaySchema = serviceSchema.extend({
    build: z.object({ context: z.string(), dockerfile: z.string() }),
    env_file: z.array(z.object({ path: z.string(), required: z.literal(false) })),
    ports: z.array(z.string()),
    volumes: z.array(z.string()),
    depends_on: z.record(z.string(), z.object({ condition: z.string() })),
    stop_grace_period: z.string().regex(/^\d+s$/),
    read_only: z.literal(true),
  });
  const schema = z.object({
    services: z.object({ gateway: gatewaySchema, database: serviceSchema }),
    volumes: z.record(z.string(), z.null()),
  });
  const { services, volumes } = schema.parse(parse(readDeployed('compose.yaml')));
  const { gateway, database } = services;

  it('builds the Dockerfile and runs the delivered configuration, with variables that are read', () => {
    expect(existsSync(join(folder, gateway.build.context, gateway.build.dockerfile))).toBe(true);
    expect(Object.keys(gateway.environment)).not.toContain('TOLLGATE_CONFIG');
    expect(gateway.env_file.map(({ path }) => path)).toEqual(['.env']);
    expect(findUnread(Object.keys(gateway.environment))).toEqual([]);
  });

  it('publishes the ports on loopback, and keeps the data in volumes that there are', () => {
    expect(gateway.ports).toEqual(
      findLast('EXPOSE')
        .split(' ')
        .map((port) => `127.0.0.1:${port}:${port}`),
    );
    expect(gateway.volumes).toEqual([`gateway:${findLast('VOLUME')}`]);
    expect(Object.keys(volumes)).toEqual(['gateway', 'database']);
  });

  it('waits for a database that is well, as the user and with the name that it asks for', () => {
    expect(gateway.depends_on.database?.condition).toBe('service_healthy');
    // On its socket alone it answers while it is still being set up.
    expect(database.healthcheck?.test).toEqual(expect.arrayContaining(['pg_isready', '--host']));
    const url = new URL((gateway.environment.TOLLGATE_LEDGER_URL ?? '').replace(/\$\{.*?\}/, 'password'));
    expect([url.protocol, url.username, url.host, url.pathname]).toEqual([
      'postgres:',
      database.environment.POSTGRES_USER,
      'database:5432',
      `/${database.environment.POSTGRES_DB}`,
    ]);
  });

  it('gives it longer to stop than it takes', () => {
    expect(Number.parseInt(gateway.stop_grace_period, 10)).toBeGreaterThan(computeStopTime());
  });

  it('holds no password', () => {
    expect(database.environment.POSTGRES_PASSWORD).toMatch(/^\$\{POSTGRES_PASSWORD:\?/);
  });
});

const labels = z.record(z.string(), z.string());
const probe = z.looseObject({ httpGet: z.object({ path: z.string(), port: z.string() }) });
const containerSchema = z.looseObject({
  envFrom: z.array(z.object({ secretRef: z.object({ name: z.string() }) })),
  env: z.array(z.object({ name: z.string(), value: z.string() })),
  ports: z.array(z.object({ name: z.string(), containerPort: z.int() })),
  startupProbe: probe,
  livenessProbe: probe,
  readinessProbe: probe,
  lifecycle: z.object({ preStop: z.object({ sleep: z.object({ seconds: z.int().positive() }) }) }),
  securityContext: z.object({
    allowPrivilegeEscalation: z.literal(false),
    readOnlyRootFilesystem: z.literal(true),
    capabilities: z.object({ drop: z.tuple([z.literal('ALL')]) }),
  }),
  volumeMounts: z.array(z.object({ name: z.string(), mountPath: z.string() })),
});
const podSchema = z.looseObject({
  terminationGracePeriodSeconds: z.int(),
  securityContext: z.looseObject({
    runAsNonRoot: z.literal(true),
    runAsUser: z.int(),
    runAsGroup: z.int(),
  }),
  containers: z.tuple([containerSchema]),
  volumes: z.array(z.looseObject({ name: z.string() })),
});
const deploymentSchema = z.object({
  apiVersion: z.literal('apps/v1'),
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({
    replicas: z.int(),
    selector: z.object({ matchLabels: labels }),
    template: z.object({ metadata: z.object({ labels, annotations: labels }), spec: podSchema }),
  }),
});
const serviceSchema = z.object({
  metadata: z.object({ name: z.string() }),
  spec: z.object({
    selector: labels,
    sessionAffinity: z.string().optional(),
    ports: z.array(z.object({ name: z.string(), port: z.int(), targetPort: z.string() })),
  }),
});
const disruptionSchema = z.object({
  apiVersion: z.literal('policy/v1'),
  spec: z.object({ maxUnavailable: z.int(), selector: z.object({ matchLabels: labels }) }),
});
const secretSchema = z.object({ metadata: z.object({ name: z.string() }), stringData: variables });

const manifestSchema = z.looseObject({ kind: z.string(), metadata: z.looseObject({ name: z.string() }) });
const manifests = new Map(
  globSync('kubernetes/*.yaml', { cwd: folder })
    .flatMap((path) =>
      parseAllDocuments(readDeployed(path)).map((document) =>
        manifestSchema.parse(document.toJS({ maxAliasCount: 0 })),
      ),
    )
    .map((manifest) => [`${manifest.kind} ${manifest.metadata.name}`, manifest]),
);
const deployment = deploymentSchema.parse(manifests.get('Deployment tollgate'));
const service = serviceSchema.parse(manifests.get('Service tollgate'));
const adminService = serviceSchema.parse(manifests.get('Service tollgate-admin'));
const disruption = disruptionSchema.parse(manifests.get('PodDisruptionBudget tollgate'));
const secret = secretSchema.parse(manifests.get('Secret tollgate'));
const { template, replicas, selector } = deployment.spec;
const [container] = template.spec.containers;

const findVariable = (wanted: string): string | undefined =>
  container.env.find(({ name }) => name === wanted)?.value;

it('the manifests are these five', () => {
  expect([...manifests.keys()].toSorted()).toEqual([
    'Deployment tollgate',
    'PodDisruptionBudget tollgate',
    'Secret tollgate',
    'Service tollgate',
    'Service tollgate-admin',
  ]);
});

it('the manifests select the same pods', () => {
  const services = [service, adminService].map(({ spec }) => spec.selector);
  for (const chosen of [selector.matchLabels, ...services, disruption.spec.selector.matchLabels])
    expect(chosen).toEqual(template.metadata.labels);
  expect(replicas).toBeGreaterThan(disruption.spec.maxUnavailable);
});

it('the manifests lead to the ports that are listened on, on all addresses of the pod', () => {
  const [port, adminPort] = container.ports;
  expect(String(port?.containerPort)).toBe(findVariable('PORT'));
  expect(String(adminPort?.containerPort)).toBe(findVariable('TOLLGATE_ADMIN_PORT'));
  expect([findVariable('HOST'), findVariable('TOLLGATE_ADMIN_HOST')]).toEqual(['0.0.0.0', '0.0.0.0']);
  expect(service.spec.ports.map(({ targetPort }) => targetPort)).toEqual([port?.name]);
  expect(adminService.spec.ports.map(({ targetPort }) => targetPort)).toEqual([adminPort?.name]);
  expect(template.metadata.annotations['prometheus.io/port']).toBe(String(port?.containerPort));
  for (const { httpGet } of [container.startupProbe, container.livenessProbe, container.readinessProbe])
    expect(httpGet.port).toBe(port?.name);
});

it('the manifests ask whether it is alive and whether it is ready at their own addresses', () => {
  expect(
    [container.startupProbe, container.livenessProbe, container.readinessProbe].map(
      ({ httpGet }) => httpGet.path,
    ),
  ).toEqual(['/healthz', '/healthz', '/readyz']);
});

it('the manifests set variables that are read, and take the secret that there is', () => {
  expect(findUnread([...container.env.map(({ name }) => name), ...Object.keys(secret.stringData)])).toEqual(
    [],
  );
  expect(container.envFrom.map(({ secretRef }) => secretRef.name)).toEqual([secret.metadata.name]);
  expect(findVariable('TOLLGATE_CONFIG')).toBeUndefined();
});

it('the manifests give all gateways one secret, refuse its sample, and keep sessions at one', () => {
  const accept = (text: string | undefined) => admin.options.safeParse({ secret: text }).success;
  expect(accept(secret.stringData.TOLLGATE_OPERATOR_SECRET)).toBe(false);
  expect(accept('a'.repeat(64))).toBe(true);
  expect(adminService.spec.sessionAffinity).toBe('ClientIP');
});

it('the manifests give it longer to stop than its pause and its drain take', () => {
  expect(template.spec.terminationGracePeriodSeconds).toBeGreaterThan(
    container.lifecycle.preStop.sleep.seconds + computeStopTime(),
  );
});

it('the manifests run it as the user of the image, with the folders it writes to', () => {
  const { runAsUser, runAsGroup } = template.spec.securityContext;
  expect(`${runAsUser}:${runAsGroup}`).toBe(findLast('USER'));
  expect(container.volumeMounts.map(({ mountPath }) => mountPath)).toEqual([
    findVariable('TOLLGATE_DATA'),
    '/tmp',
  ]);
  expect(container.volumeMounts.map(({ name }) => name)).toEqual(
    template.spec.volumes.map(({ name }) => name),
  );
});
