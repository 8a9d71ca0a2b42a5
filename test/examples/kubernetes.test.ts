/** The Kubernetes manifests fit one another and the gateway. */
import { globSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { admin } from '../../plugins/operations/admin/index.ts';
import {
  folder,
  findLast,
  computeStopTime,
  openDeployment,
  read,
  findUnread,
  variables,
} from './deployed.ts';

openDeployment();

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
        parseAllDocuments(read(path)).map((document) =>
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

  it('are these five', () => {
    expect([...manifests.keys()].toSorted()).toEqual([
      'Deployment tollgate',
      'PodDisruptionBudget tollgate',
      'Secret tollgate',
      'Service tollgate',
      'Service tollgate-admin',
    ]);
  });

  it('select the same pods', () => {
    const services = [service, adminService].map(({ spec }) => spec.selector);
    for (const chosen of [selector.matchLabels, ...services, disruption.spec.selector.matchLabels])
      expect(chosen).toEqual(template.metadata.labels);
    expect(replicas).toBeGreaterThan(disruption.spec.maxUnavailable);
  });

  it('lead to the ports that are listened on, on all addresses of the pod', () => {
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

  it('ask whether it is alive and whether it is ready at their own addresses', () => {
    expect(
      [container.startupProbe, container.livenessProbe, container.readinessProbe].map(
        ({ httpGet }) => httpGet.path,
      ),
    ).toEqual(['/healthz', '/healthz', '/readyz']);
  });

  it('set variables that are read, and take the secret that there is', () => {
    expect(findUnread([...container.env.map(({ name }) => name), ...Object.keys(secret.stringData)])).toEqual(
      [],
    );
    expect(container.envFrom.map(({ secretRef }) => secretRef.name)).toEqual([secret.metadata.name]);
    expect(findVariable('TOLLGATE_CONFIG')).toBeUndefined();
  });

  it('give all gateways one operator secret, refuse its sample, and keep sessions at one gateway', () => {
    const accept = (text: string | undefined) => admin.options.safeParse({ secret: text }).success;
    expect(accept(secret.stringData.TOLLGATE_OPERATOR_SECRET)).toBe(false);
    expect(accept('a'.repeat(64))).toBe(true);
    expect(adminService.spec.sessionAffinity).toBe('ClientIP');
  });

  it('give it longer to stop than its pause and its drain take', () => {
    expect(template.spec.terminationGracePeriodSeconds).toBeGreaterThan(
      container.lifecycle.preStop.sleep.seconds + computeStopTime(),
    );
  });

  it('run it as the user of the image, with the folders it writes to', () => {
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
});
