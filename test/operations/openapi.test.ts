/**
 * The OpenAPI description, compared with the gateway of the default configuration: everything described
 * exists, everything that exists is described, and requests and replies match their schemas.
 */
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import {
  document,
  adminUrl,
  fillPath,
  gateway,
  host,
  key,
  openDocument,
  listOperations,
  publicPaths,
  sent,
} from './openapi.ts';

openDocument();

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
    const names = listOperations().map(({ operation }) => operation.operationId);
    expect(names).toEqual([...new Set(names)]);
    expect(names.filter((name) => !/^[\w-]+$/.test(name))).toEqual([]);
  });
});

describe('the operations of the document', () => {
  it('includes each route of each plugin', () => {
    const routes = [...host.routes.list()]
      .filter((route) => route.describe !== false)
      .map(({ method, path }) => `${method} ${path.replace(/[:*](\w+)/g, '{$1}')}`);
    const calls = [...host.protocols.list()].flatMap((protocol) =>
      listOperations()
        .filter(({ method, path }) => protocol.client.match(method, fillPath(path), ''))
        .map(({ method, path }) => `${method} ${path}`),
    );
    expect(
      listOperations()
        .map(({ method, path }) => `${method} ${path}`)
        .toSorted(),
    ).toEqual([...new Set([...routes, ...calls, 'GET /healthz', 'GET /readyz'])].toSorted());
  });

  it.each([
    'POST /v1/chat/completions',
    'POST /v1/responses',
    'POST /v1/responses/compact',
    'POST /v1/responses/input_tokens',
    'POST /alpha/v1/messages',
    'POST /alpha/v1/messages/count_tokens',
    'POST /beta/v1beta/models/{model}:generateContent',
    'POST /beta/v1beta/models/{model}:streamGenerateContent',
    'POST /beta/v1beta/models/{model}:countTokens',
    'POST /beta/v1/models/{model}:generateContent',
    'POST /v1/messages',
    'POST /v1/messages/count_tokens',
    'POST /v1beta/models/{model}:streamGenerateContent',
    'POST /v1/models/{model}:generateContent',
    'GET /v1beta/models',
    'GET /v1/models/{id}',
    'POST /v1/images/generations',
    'POST /v1/images/edits',
    'GET /v1/user/balance',
    'GET /v1/calls/{id}',
    'POST /admin/keys',
  ])('include the operation %s', (name) => {
    expect(listOperations().map(({ method, path }) => `${method} ${path}`)).toContain(name);
  });

  it('describe request and reply of each of our routes', () => {
    const silent = [...host.routes.list()]
      .filter((route) => route.describe === undefined)
      .map(({ name }) => name);
    expect(silent).toEqual([]);
    const bare = listOperations().filter(
      ({ operation }) =>
        !Object.keys(operation.responses).some(
          (status) =>
            status.startsWith('2') && Object.keys(operation.responses[status]?.content ?? {}).length > 0,
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

  it('name the roles that may run them: viewers read, billing moves money, members see their own', () => {
    const listed = listOperations().flatMap(({ method, path, operation: { 'x-tollgate-roles': roles } }) =>
      roles ? { name: `${method} ${path}`, isRead: method === 'GET', roles } : [],
    );
    const listNames = (role: string, isRead: boolean): string[] =>
      listed.filter((each) => each.isRead === isRead && each.roles.includes(role)).map(({ name }) => name);
    expect(listed.length).toBeGreaterThan(40);
    expect(listed.filter(({ roles }) => roles[0] !== 'owner')).toEqual([]);
    const reads = listed.filter(({ isRead }) => isRead).map(({ name }) => name);
    for (const role of ['admin', 'billing', 'viewer']) expect(listNames(role, true), role).toEqual(reads);
    expect(listNames('viewer', false).toSorted()).toEqual([
      'POST /admin/config/check',
      'POST /admin/crossing',
    ]);
    expect(listNames('billing', false).toSorted()).toEqual([
      'DELETE /admin/budgets/{budget}',
      'DELETE /admin/markups',
      'PATCH /admin/accounts/{account}/terms',
      'PATCH /admin/budgets/{budget}',
      'POST /admin/adjustments',
      'POST /admin/budgets',
      'POST /admin/budgets/{budget}/raises',
      'POST /admin/chargebacks',
      'POST /admin/config/check',
      'POST /admin/credits',
      'POST /admin/crossing',
      'POST /admin/markups',
      'POST /admin/refunds',
      'PUT /admin/budgets/{budget}',
    ]);
    const ownersOnly = listed.filter(({ isRead, roles }) => !isRead && !roles.includes('admin'));
    expect(ownersOnly.map(({ name }) => name).toSorted()).toEqual([
      'DELETE /admin/markups',
      'POST /admin/adjustments',
      'POST /admin/chargebacks',
      'POST /admin/markups',
      'POST /admin/refunds',
    ]);
    expect(listNames('member', false).toSorted()).toEqual([
      'DELETE /admin/keys/{key}',
      'PATCH /admin/keys/{key}',
      'POST /admin/keys',
      'POST /admin/keys/{key}/rotate',
    ]);
  });

  it('answer at every documented path', async () => {
    for (const { method, path, operation } of listOperations()) {
      const base = operation.tags.includes('on the admin listener') ? adminUrl : gateway.url;
      const response = await fetch(`${base}${fillPath(path)}`, { method });
      const text = await response.text();
      expect(text, `${method} ${path}`).not.toContain('There is nothing at');
      // No credential was sent: routes that require a key say so, and all others do not.
      expect([method, path, response.status === 401]).toEqual([method, path, operation.security.length > 0]);
    }
  });

  it('accept each credential documented for a path', async () => {
    for (const { method, path, operation } of listOperations().filter(
      ({ operation: { tags } }) => !tags.includes('on the admin listener'),
    )) {
      for (const name of operation.security.flatMap((scheme) => Object.keys(scheme))) {
        const headers: Record<string, string> =
          name === 'bearer' ? { authorization: `Bearer ${key}` } : { [name]: key };
        const { status } = await fetch(
          `${gateway.url}${fillPath(path)}${name === 'key' ? `?key=${key}` : ''}`,
          { method, headers: name === 'key' ? {} : headers },
        );
        expect([method, path, name, status === 401]).toEqual([method, path, name, false]);
      }
    }
  });
});
