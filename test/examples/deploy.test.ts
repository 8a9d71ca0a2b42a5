/**
 * The files for containers, without any: they are parsed and held against the gateway they start (its ports,
 * probes, variables, drain), and the Dockerfile is followed step by step in an empty folder.
 */
import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { loadConfig, type Config } from '../../core/config.ts';
import { freshDatabase } from '../support/database.ts';
import { runAlone, startProcess, type Copy } from '../support/process.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const folder = join(root, 'examples/deploy');
const read = (path: string): string => readFileSync(join(folder, path), 'utf8');

let config: Config;
beforeAll(async () => {
  process.env.TOLLGATE_LEDGER_URL = 'postgres://nobody:nothing@127.0.0.1:1/none';
  config = await loadConfig(join(folder, 'gateway.config.ts'));
  delete process.env.TOLLGATE_LEDGER_URL;
});

/** Seconds that the gateway may need from the signal to its end: its drain, and twice what ends may take. */
const ends = 12;
const needed = (): number => config.server.drain / 1000 + ends;

const sources =
  globSync('{core,plugins}/**/*.{ts,js}', { cwd: root })
    .map((path) => readFileSync(join(root, path), 'utf8'))
    .join('\n') + read('gateway.config.ts');

/** The variables of these that nothing in the gateway reads. */
function unread(names: readonly string[]): string[] {
  return names.filter((name) => name !== 'NODE_ENV' && !new RegExp(`\\b${name}\\b`).test(sources));
}

interface Instruction {
  readonly word: string;
  readonly rest: string;
}

/** The instructions of a Dockerfile by their stages. */
function stagesOf(text: string): Instruction[][] {
  const lines = text
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '');
  const stages: Instruction[][] = [];
  for (const line of lines) {
    const [, word = '', rest = ''] = /^(\w+)\s+(.*)$/.exec(line) ?? [];
    if (word === 'FROM') stages.push([]);
    stages.at(-1)?.push({ word, rest });
  }
  return stages;
}

const stages = stagesOf(read('Dockerfile'));
const final = stages.at(-1) ?? [];
const last = (word: string): string => final.findLast((instruction) => instruction.word === word)?.rest ?? '';
const words = z.array(z.string());
const environment = Object.fromEntries(
  last('ENV')
    .split(' ')
    .map((pair) => pair.split('=') as [string, string]),
);

describe('the Dockerfile', () => {
  it('builds in stages, on a Node the project runs on, pinned to its major version', () => {
    expect(stages.length).toBe(2);
    for (const [first] of stages)
      expect(Number(/^node:(\d+)-slim/.exec(first?.rest ?? '')?.[1])).toBeGreaterThanOrEqual(24);
  });

  it('runs as somebody who is not root, by number', () => {
    expect(last('USER')).toMatch(/^[1-9]\d*:[1-9]\d*$/);
  });

  it('sets variables that are read, and shows the port that is listened on', () => {
    expect(unread(Object.keys(environment))).toEqual([]);
    expect([environment.PORT, last('EXPOSE')]).toEqual(['8787', '8787']);
    expect(environment.TOLLGATE_DATA).toBe(last('VOLUME'));
  });

  it('starts the gateway without a shell, which would keep signals from it', () => {
    expect(words.parse(JSON.parse(last('ENTRYPOINT')))[0]).toBe('node');
    expect(words.parse(JSON.parse(last('CMD')))).toEqual(['start']);
  });

  it('copies nothing that its .dockerignore keeps out', () => {
    const allowed = read('Dockerfile.dockerignore')
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

  /** What the image says of folders is true of this one; the port is chosen at each start. */
  const { PORT: _, ...said } = environment;
  const set = {
    ...said,
    TOLLGATE_DATA: join(place, 'volume'),
    NODE_COMPILE_CACHE: join(place, basename(environment.NODE_COMPILE_CACHE ?? '')),
  };

  /** What Node keeps of the sources. */
  function kept(): string[] {
    return globSync('*/*', { cwd: set.NODE_COMPILE_CACHE }).toSorted();
  }

  beforeAll(async () => {
    const { PATH = '', HOME = '', NODE_EXTRA_CA_CERTS = '' } = process.env;
    const npm = {
      npm_config_prefer_offline: 'true',
      npm_config_audit: 'false',
      npm_config_fund: 'false',
      NODE_EXTRA_CA_CERTS,
    };
    for (const { word, rest } of stages.flat()) {
      if (word === 'COPY' && !rest.startsWith('--from')) copy(rest);
      // The folders that it makes are made here by whoever needs them.
      if (word === 'RUN' && !rest.startsWith('mkdir '))
        await run('sh', ['-c', rest], {
          cwd: place,
          env: { PATH, HOME, ...(rest.startsWith('npm ') ? npm : set) },
        });
    }
  });

  /**
   * Expects that the steps have kept what Node makes of the sources. A thread that is ended as it loads does
   * not keep what it loaded, so they may miss a few files.
   */
  function expectKept(before: readonly string[]): void {
    expect(before.length).toBeGreaterThan(500);
    expect(before.length / kept().length).toBeGreaterThan(0.9);
  }

  it('make a gateway that compiles nothing, serves, passes its own check, and stops', async () => {
    expect(words.parse(JSON.parse(last('ENTRYPOINT')))).toEqual(['node', 'core/cli.js']);
    const before = kept();
    const gateway = await startProcess(set, app);
    const [, program = ''] = /^.*? CMD (\[.*\])$/.exec(last('HEALTHCHECK')) ?? [];
    const [command, ...rest] = words.parse(JSON.parse(program));
    const { port } = new URL(gateway.url);
    expect(command).toBe('node');
    await run(process.execPath, rest, { env: { PORT: port } });
    await expect(run(process.execPath, rest, { env: { PORT: '9' } })).rejects.toMatchObject({ code: 1 });
    expect((await gateway.stop('SIGTERM')).code).toBe(0);
    expectKept(before);
  });

  it('make one that keeps its ledger in PostgreSQL, and compiles no source for that', async () => {
    const before = kept();
    const { url, drop } = await freshDatabase();
    const variables = {
      TOLLGATE_CONFIG: 'examples/deploy/gateway.config.ts',
      TOLLGATE_LEDGER_URL: url,
      TOLLGATE_DATA: join(place, 'other'),
      NODE_COMPILE_CACHE: set.NODE_COMPILE_CACHE,
    };
    const gateway = await startProcess(variables, app);
    const { output } = await runAlone(['keys', 'create', '--credit', '5', '--json'], variables, app);
    const { key } = z.object({ key: z.string() }).parse(JSON.parse(output));
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const reply = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ model: 'demo/echo', messages: [{ role: 'user', content: 'Hello!' }] }),
    });
    expect([reply.status, (await fetch(`${gateway.url}/readyz`)).status]).toEqual([200, 200]);
    expect((await gateway.stop('SIGTERM')).code).toBe(0);
    expectKept(before);
    await drop();
  });
});

const variables = z.record(z.string(), z.string());

describe('the compose file', () => {
  const serviceSchema = z.looseObject({
    environment: variables,
    healthcheck: z.object({ test: z.array(z.string()) }).optional(),
  });
  const gatewaySchema = serviceSchema.extend({
    build: z.object({ context: z.string(), dockerfile: z.string() }),
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
  const { services, volumes } = schema.parse(parse(read('compose.yaml')));
  const { gateway, database } = services;

  it('builds the Dockerfile and runs the configuration beside it, with variables that are read', () => {
    expect(existsSync(join(folder, gateway.build.context, gateway.build.dockerfile))).toBe(true);
    expect(existsSync(join(root, gateway.environment.TOLLGATE_CONFIG ?? ''))).toBe(true);
    expect(unread(Object.keys(gateway.environment))).toEqual([]);
  });

  it('publishes the port on loopback, and keeps the data in volumes that there are', () => {
    expect(gateway.ports).toEqual([`127.0.0.1:${last('EXPOSE')}:${last('EXPOSE')}`]);
    expect(gateway.volumes).toEqual([`gateway:${last('VOLUME')}`]);
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
    expect(Number.parseInt(gateway.stop_grace_period, 10)).toBeGreaterThan(needed());
  });

  it('holds no password', () => {
    expect(database.environment.POSTGRES_PASSWORD).toMatch(/^\$\{POSTGRES_PASSWORD:\?/);
  });
});

describe('the Kubernetes manifests', () => {
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
    spec: z.object({
      selector: labels,
      ports: z.array(z.object({ name: z.string(), port: z.int(), targetPort: z.string() })),
    }),
  });
  const disruptionSchema = z.object({
    apiVersion: z.literal('policy/v1'),
    spec: z.object({ maxUnavailable: z.int(), selector: z.object({ matchLabels: labels }) }),
  });
  const secretSchema = z.object({ metadata: z.object({ name: z.string() }), stringData: variables });

  const manifests = new Map(
    globSync('kubernetes/*.yaml', { cwd: folder })
      .flatMap((path) =>
        parseAllDocuments(read(path)).map((document) =>
          z.looseObject({ kind: z.string() }).parse(document.toJS({ maxAliasCount: 0 })),
        ),
      )
      .map((manifest) => [manifest.kind, manifest]),
  );
  const deployment = deploymentSchema.parse(manifests.get('Deployment'));
  const service = serviceSchema.parse(manifests.get('Service'));
  const disruption = disruptionSchema.parse(manifests.get('PodDisruptionBudget'));
  const secret = secretSchema.parse(manifests.get('Secret'));
  const { template, replicas, selector } = deployment.spec;
  const [container] = template.spec.containers;

  it('are these four', () => {
    expect([...manifests.keys()].toSorted()).toEqual([
      'Deployment',
      'PodDisruptionBudget',
      'Secret',
      'Service',
    ]);
  });

  it('select the same pods', () => {
    for (const chosen of [selector.matchLabels, service.spec.selector, disruption.spec.selector.matchLabels])
      expect(chosen).toEqual(template.metadata.labels);
    expect(replicas).toBeGreaterThan(disruption.spec.maxUnavailable);
  });

  it('lead to the port that is listened on', () => {
    const [port] = container.ports;
    expect(String(port?.containerPort)).toBe(container.env.find(({ name }) => name === 'PORT')?.value);
    expect(service.spec.ports.map(({ targetPort }) => targetPort)).toEqual([port?.name]);
    expect(template.metadata.annotations['prometheus.io/port']).toBe(String(port?.containerPort));
    for (const { httpGet } of [container.startupProbe, container.livenessProbe, container.readinessProbe])
      expect(httpGet.port).toBe(port?.name);
  });

  it('ask whether it is alive and whether it is ready at their own addresses', () => {
    expect(
      [container.startupProbe, container.livenessProbe, container.readinessProbe].map(
        ({ httpGet }) => httpGet.path,
      ),
    ).toEqual(['/healthz', '/healthz', '/readyz']);
  });

  it('set variables that are read, and take the secret that there is', () => {
    expect(unread([...container.env.map(({ name }) => name), ...Object.keys(secret.stringData)])).toEqual([]);
    expect(container.envFrom.map(({ secretRef }) => secretRef.name)).toEqual([secret.metadata.name]);
    expect(
      existsSync(join(root, container.env.find(({ name }) => name === 'TOLLGATE_CONFIG')?.value ?? '')),
    ).toBe(true);
  });

  it('give it longer to stop than its pause and its drain take', () => {
    expect(template.spec.terminationGracePeriodSeconds).toBeGreaterThan(
      container.lifecycle.preStop.sleep.seconds + needed(),
    );
  });

  it('run it as the user of the image, with the folders it writes to', () => {
    const { runAsUser, runAsGroup } = template.spec.securityContext;
    expect(`${runAsUser}:${runAsGroup}`).toBe(last('USER'));
    expect(container.volumeMounts.map(({ mountPath }) => mountPath)).toEqual([
      container.env.find(({ name }) => name === 'TOLLGATE_DATA')?.value,
      '/tmp',
    ]);
    expect(container.volumeMounts.map(({ name }) => name)).toEqual(
      template.spec.volumes.map(({ name }) => name),
    );
  });
});
