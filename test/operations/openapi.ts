/** A gateway as it is delivered, with its OpenAPI document and validators of its schemas. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll } from 'vitest';
import { z } from 'zod';
import { definePlugin, GatewayError, type Host } from '../../core/index.ts';
import { findAdminUrl } from '../support/admin-url.ts';
import { startDelivered } from '../support/delivered.ts';
import type { TestGateway } from '../support/gateway.ts';

const operation = z.object({
  operationId: z.string(),
  tags: z.array(z.string()),
  'x-tollgate-roles': z.array(z.string()).optional(),
  security: z.array(z.record(z.string(), z.unknown())),
  parameters: z.array(z.object({ name: z.string(), in: z.string(), required: z.boolean() })),
  requestBody: z.object({ content: z.record(z.string(), z.object({ schema: z.unknown() })) }).optional(),
  responses: z.record(
    z.string(),
    z.object({ content: z.record(z.string(), z.object({ schema: z.looseObject({}) })).optional() }),
  ),
});

const documentSchema = z.looseObject({
  openapi: z.string(),
  paths: z.record(z.string(), z.record(z.string(), operation)),
  components: z.looseObject({
    schemas: z.record(z.string(), z.looseObject({ examples: z.array(z.looseObject({})).optional() })),
    securitySchemes: z.record(z.string(), z.unknown()),
  }),
});

export let gateway: TestGateway;
export let host: Host;
export let key: string;
export let secret: string;
export let adminUrl: string;

/** The document as it was sent, and as far as the tests read it. */
export let sent: string;
export let document: z.output<typeof documentSchema>;
export let publicPaths: string[];
const paths = z.record(z.string(), z.record(z.string(), z.unknown()));
const components = z.looseObject({ schemas: z.record(z.string(), z.unknown()) });
/** Each schema checks few values, so a quick compilation saves a quarter of the time of its tests. */
const compileQuickly = { inlineRefs: false, code: { optimize: false } };
export const ajv = new Ajv2020({
  ...compileQuickly,
  strict: false,
  validateFormats: false,
  allErrors: true,
});

const watcher = definePlugin({
  name: 'host-watcher',
  options: z.strictObject({}),
  apply: (given) => void (host = given),
});

/** Breaks off replies to requests with the header `x-break`, after their first words. */
const breaker = definePlugin({
  name: 'breaker',
  options: z.strictObject({}),
  apply(host) {
    const when = ({ headers }: { readonly headers: object }): boolean => 'x-break' in headers;
    host.hooks.transformStream.tap({ name: 'breaker', when }, async function* (events) {
      for await (const event of events) {
        yield event;
        if (event.type === 'block-delta') throw new GatewayError('upstream_failed', 'It broke off.');
      }
    });
  },
});

/** Every method of every path, in one list. */
export function listOperations() {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, described]) => ({
      method: method.toUpperCase(),
      path,
      operation: described,
    })),
  );
}

/** A path to call: each placeholder in braces has a value. */
export const fillPath = (path: string): string =>
  path
    .replace('{model}', 'demo/echo')
    .replace('/models/{id}', '/models/demo%2Fecho')
    .replace(/\{\w+\}/g, 'demo');

export function openDocument(): void {
  beforeAll(async () => {
    gateway = await startDelivered(watcher(), breaker());
    key = await gateway.newKey({ account: 'tester', credit: '5' });
    secret = readFileSync(join(gateway.dataFolder, 'operator-secret'), 'utf8').trim();
    adminUrl = findAdminUrl(gateway.printed);
    const [all, operators] = await Promise.all(
      [gateway.url, adminUrl].map(async (url) =>
        z.looseObject({ paths, components }).parse(await (await fetch(`${url}/openapi.json`)).json()),
      ),
    );
    if (!all || !operators) throw new Error('each listener has a document');
    publicPaths = Object.keys(all.paths);
    // Most tests read both as one.
    const both = {
      ...all,
      paths: { ...operators.paths, ...all.paths },
      components: {
        ...all.components,
        schemas: { ...operators.components.schemas, ...all.components.schemas },
      },
    };
    sent = JSON.stringify(both);
    document = documentSchema.parse(both);
    ajv.addSchema(both, 'document', false, false);
  });
  afterAll(async () => {
    ajv.removeSchema('document');
  });
}
