/**
 * The OpenAPI description, compared with the gateway of the default configuration: everything described
 * exists, everything that exists is described, and requests and replies match their schemas.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { definePlugin, type Host } from '../../core/index.ts';
import { overload } from '../../plugins/operations/overload.ts';
import { findAdminUrl } from '../support/admin-url.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';

const operation = z.object({
  operationId: z.string(),
  tags: z.array(z.string()),
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

let gateway: TestGateway;
let host: Host;
let key: string;
let secret: string;
let door: string;
/** The document as it was sent, and as far as the tests read it. */
let sent: string;
let document: z.output<typeof documentSchema>;
let publicPaths: string[];
const paths = z.record(z.string(), z.record(z.string(), z.unknown()));
const components = z.looseObject({ schemas: z.record(z.string(), z.unknown()) });
const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });

const watcher = definePlugin({
  name: 'host-watcher',
  options: z.strictObject({}),
  apply: (given) => void (host = given),
});

async function startDefault(): Promise<TestGateway> {
  vi.stubEnv('TOLLGATE_ADMIN_PORT', '0');
  const { default: config } = await import('../../gateway.config.ts');
  // This process compiles schemas beside the gateway: however long that takes, it is no overload.
  const plugins = config.plugins.map((plugin) =>
    plugin && plugin.name === 'overload' ? overload({ lag: 600_000 }) : plugin,
  );
  return startGateway({ plugins: [...plugins, watcher()] });
}

beforeAll(async () => {
  gateway = await startDefault();
  const made = z.object({ key: z.string() });
  key = made.parse(await gateway.verb('keys create', [], { account: 'tester', credit: '5' })).key;
  secret = readFileSync(join(gateway.dataFolder, 'operator-secret'), 'utf8').trim();
  door = findAdminUrl(gateway.told);
  const [all, operators] = await Promise.all(
    [gateway.url, door].map(async (url) =>
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
  await gateway.close();
  vi.unstubAllEnvs();
});

/** Every method of every path, in one list. */
function operations() {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, told]) => ({ method: method.toUpperCase(), path, told })),
  );
}

/** A path to call: each placeholder in braces has a value. */
const filled = (path: string): string =>
  path
    .replace('{model}', 'demo/echo')
    .replace('{name}', 'demo%2Fecho')
    .replace(/\{\w+\}/g, 'demo');

const compiled = new Map<string, ValidateFunction>();

/** What is wrong with a value by the document's schema. */
function faults(schema: Record<string, unknown>, value: unknown): unknown {
  const place = JSON.stringify(schema).replaceAll('#/', 'document#/');
  const validate = compiled.get(place) ?? ajv.compile(JSON.parse(place));
  compiled.set(place, validate);
  return validate(value) ? [] : validate.errors;
}

function replySchema(path: string, method: string, status: number, type: string): Record<string, unknown> {
  const told = document.paths[path]?.[method.toLowerCase()]?.responses;
  const schema = (told?.[String(status)] ?? told?.default)?.content?.[type]?.schema;
  if (!schema) throw new Error(`nothing is told of ${status} ${type} at ${method} ${path}`);
  return schema;
}

function example(title: string): Record<string, unknown> {
  const [first] = document.components.schemas[title]?.examples ?? [];
  if (!first) throw new Error(`"${title}" has no example`);
  return first;
}

function post(path: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'anthropic-version': '2023-06-01',
      ...headers,
    },
    body: JSON.stringify(body),
  });
}

describe('the document', () => {
  it('is valid OpenAPI 3.1', async () => {
    const result = await new Validator().validate(JSON.parse(sent));
    expect(result.errors ?? []).toEqual([]);
    expect(result.valid).toBe(true);
    expect(document.openapi).toMatch(/^3\.1\./);
  });

  it('has a schema behind every reference', () => {
    const references = [...sent.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(
      ([, name]) => name ?? '',
    );
    expect(references.length).toBeGreaterThan(50);
    expect(references.filter((name) => !(name in document.components.schemas))).toEqual([]);
    expect(sent).not.toContain('$defs');
  });

  it('names every operation once', () => {
    const names = operations().map(({ told }) => told.operationId);
    expect(names).toEqual([...new Set(names)]);
    expect(names.filter((name) => !/^[\w-]+$/.test(name))).toEqual([]);
  });
});

describe('the operations of the document', () => {
  it('includes each route of each plugin', () => {
    const routes = [...host.routes.all()]
      .filter((route) => route.openapi !== false)
      .map(({ method, path }) => `${method} ${path.replace(/[:*](\w+)/g, '{$1}')}`);
    const calls = [...host.protocols.all()].flatMap((protocol) =>
      operations()
        .filter(({ method, path }) => protocol.client.match(method, filled(path), ''))
        .map(({ method, path }) => `${method} ${path}`),
    );
    expect(
      operations()
        .map(({ method, path }) => `${method} ${path}`)
        .toSorted(),
    ).toEqual([...new Set([...routes, ...calls, 'GET /healthz', 'GET /readyz'])].toSorted());
  });

  it.each([
    'POST /v1/chat/completions',
    'POST /v1/responses',
    'POST /v1/responses/input_tokens',
    'POST /alpha/v1/messages',
    'POST /alpha/v1/messages/count_tokens',
    'POST /beta/v1beta/models/{model}:generateContent',
    'POST /beta/v1beta/models/{model}:streamGenerateContent',
    'POST /beta/v1beta/models/{model}:countTokens',
    'POST /beta/v1/models/{model}:generateContent',
    'POST /v1/images/generations',
    'POST /v1/images/edits',
    'GET /v1/user/balance',
    'GET /v1/calls/{id}',
    'POST /admin/keys',
  ])('include %s', (name) => {
    expect(operations().map(({ method, path }) => `${method} ${path}`)).toContain(name);
  });

  it('describe request and reply of each of our routes', () => {
    const silent = [...host.routes.all()]
      .filter((route) => route.openapi === undefined)
      .map(({ name }) => name);
    expect(silent).toEqual([]);
    const bare = operations().filter(
      ({ told }) =>
        !Object.keys(told.responses).some(
          (status) => status.startsWith('2') && Object.keys(told.responses[status]?.content ?? {}).length > 0,
        ),
    );
    expect(bare.map(({ path }) => path)).toEqual([]);
  });

  it('list operator routes on the admin listener alone', () => {
    expect(publicPaths.filter((path) => path.startsWith('/admin'))).toEqual([]);
    expect(publicPaths).toEqual(
      expect.arrayContaining(['/v1/chat/completions', '/v1/key', '/v1/calls', '/openapi.json']),
    );
    expect(Object.keys(document.paths)).toEqual(expect.arrayContaining(['/admin/calls', '/admin/overview']));
  });

  it('answer at every documented path', async () => {
    for (const { method, path, told } of operations()) {
      const base = told.tags.includes('on the admin listener') ? door : gateway.url;
      const response = await fetch(`${base}${filled(path)}`, { method });
      const text = await response.text();
      expect(text, `${method} ${path}`).not.toContain('There is nothing at');
      // No credential was sent: routes that require a key say so, and all others do not.
      expect([method, path, response.status === 401]).toEqual([method, path, told.security.length > 0]);
    }
  });

  it('accept each credential documented for a path', async () => {
    for (const { method, path, told } of operations().filter(
      ({ told: { tags } }) => !tags.includes('on the admin listener'),
    )) {
      for (const name of told.security.flatMap((scheme) => Object.keys(scheme))) {
        const headers: Record<string, string> =
          name === 'bearer' ? { authorization: `Bearer ${key}` } : { [name]: key };
        const { status } = await fetch(
          `${gateway.url}${filled(path)}${name === 'key' ? `?key=${key}` : ''}`,
          { method, headers: name === 'key' ? {} : headers },
        );
        expect([method, path, name, status === 401]).toEqual([method, path, name, false]);
      }
    }
  });
});

describe('the schemas of the document', () => {
  const families = [
    ['/v1/chat/completions', 'ChatCompletionRequest'],
    ['/v1/responses', 'ResponseRequest'],
    ['/v1/responses/input_tokens', 'ResponseCountRequest'],
    ['/alpha/v1/messages', 'MessageRequest'],
    ['/alpha/v1/messages/count_tokens', 'MessageCountRequest'],
    ['/beta/v1beta/models/{model}:generateContent', 'GenerateContentRequest'],
    ['/beta/v1beta/models/{model}:countTokens', 'GenerateContentCountRequest'],
    ['/v1/images/generations', 'ImageGenerationRequest'],
  ] as const;

  it.each(families)('match a whole reply at %s', async (path, title) => {
    const response = await post(filled(path), example(title));
    expect(response.status).toBe(200);
    expect(faults(replySchema(path, 'POST', 200, 'application/json'), await response.json())).toEqual([]);
  });

  it.each(families.filter(([path]) => !/count|tokens|Tokens/.test(path)))(
    'match a stream at %s',
    async (path, title) => {
      const told = path.replace(':generateContent', ':streamGenerateContent');
      const response = await post(
        `${filled(told)}?alt=sse`,
        told === path ? { ...example(title), stream: true } : example(title),
      );
      const events = [...(await response.text()).matchAll(/^data: (\{.*)$/gm)].map(([, text]): unknown =>
        JSON.parse(text ?? ''),
      );
      expect(events.length).toBeGreaterThan(0);
      const schema = replySchema(told, 'POST', 200, 'text/event-stream');
      for (const event of events) expect(faults(schema, event)).toEqual([]);
    },
  );

  it.each(families)('match an error at %s', async (path) => {
    const response = await post(filled(path), {});
    expect(response.status).toBe(400);
    expect(faults(replySchema(path, 'POST', 400, 'application/json'), await response.json())).toEqual([]);
  });

  it.each(families)(
    'reject a request that the gateway refuses at %s, and accept the example',
    (_path, title) => {
      const schema = { $ref: `#/components/schemas/${title}` };
      expect(faults(schema, example(title))).toEqual([]);
      expect(faults(schema, { ...example(title), provider: { routing: 'by the stars' } })).not.toEqual([]);
    },
  );

  it('match an edit, which is a form', async () => {
    const form = new FormData();
    const made = z
      .object({ data: z.tuple([z.object({ b64_json: z.string() })]) })
      .parse(await (await post('/v1/images/generations', example('ImageGenerationRequest'))).json());
    for (const [name, value] of Object.entries(example('ImageEditForm'))) form.set(name, String(value));
    form.set(
      'image',
      new Blob([Buffer.from(made.data[0].b64_json, 'base64')], { type: 'image/png' }),
      'picture.png',
    );
    const response = await fetch(`${gateway.url}/v1/images/edits`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: form,
    });
    expect(response.status).toBe(200);
    expect(
      faults(replySchema('/v1/images/edits', 'POST', 200, 'application/json'), await response.json()),
    ).toEqual([]);
  });

  it('match every page that is read with GET', async () => {
    const { headers } = await post('/v1/chat/completions', example('ChatCompletionRequest'));
    const id = headers.get('x-request-id') ?? '';
    const account = 'tester';
    await fetch(`${door}/admin/budgets`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ scope: 'account', subject: account, limit: '5' }),
    });
    const pages = operations().filter(({ method, path }) => method === 'GET' && path !== '/admin/events');
    for (const { method, path, told } of pages) {
      const isOperators = told.tags.includes('on the admin listener');
      const at = path
        .replace('/calls/{id}', `/calls/${id}`)
        .replace('{account}', account)
        .replace('{budget}', '1')
        .replace('{key}', key.slice(-4))
        .replace('{id}', 'demo%2Fecho');
      const response = await fetch(`${isOperators ? door : gateway.url}${filled(at)}`, {
        headers: { authorization: `Bearer ${isOperators ? secret : key}` },
      });
      const type = response.headers.get('content-type')?.split(';')[0] ?? '';
      const body: unknown = type === 'application/json' ? await response.json() : await response.text();
      expect([path, response.status, faults(replySchema(path, method, 200, type), body)]).toEqual([
        path,
        200,
        [],
      ]);
    }
  });

  it('match a call to a provider with several keys, by the number of its key', async () => {
    const { headers } = await post('/v1/chat/completions', example('ChatCompletionRequest'));
    const response = await fetch(`${gateway.url}/v1/calls/${headers.get('x-request-id')}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    const told = z.looseObject({ attempts: z.array(z.looseObject({})) }).parse(await response.json());
    const numbered = { ...told, attempts: told.attempts.map((attempt) => ({ ...attempt, key: 2 })) };
    expect(faults(replySchema('/v1/calls/{id}', 'GET', 200, 'application/json'), numbered)).toEqual([]);
  });

  it("match the operators' requests and replies", async () => {
    const orders = [
      ['/admin/accounts', 201, { name: 'acme' }],
      ['/admin/credits', 201, { account: 'acme', amount: '1', reference: 'one' }],
      ['/admin/credits', 200, { account: 'acme', amount: '1', reference: 'one' }],
      [
        '/admin/keys',
        201,
        { account: 'acme', limits: { spendCap: '1', models: ['demo/*'], expires: '2100-01-01' } },
      ],
      ['/admin/keys', 400, { account: 'acme', colour: 'blue' }],
      ['/admin/budgets', 201, { scope: 'account', subject: 'acme', limit: '1', per: 'day' }],
      ['/admin/budgets/1/raises', 201, { amount: '1', until: '2100-01-01' }],
    ] as const;
    for (const [path, status, order] of orders) {
      const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
      const response = await fetch(`${door}${path}`, {
        method: 'POST',
        headers,
        body: JSON.stringify(order),
      });
      expect([
        path,
        response.status,
        faults(
          replySchema(path.replace('/1/', '/{budget}/'), 'POST', status, 'application/json'),
          await response.json(),
        ),
      ]).toEqual([path, status, []]);
    }
  });
});
