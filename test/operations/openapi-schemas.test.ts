/** The schemas of the OpenAPI document match what the gateway takes and sends. */
import { type ValidateFunction } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { postJson } from '../support/post.ts';
import {
  ajv,
  document,
  adminUrl,
  fillPath,
  gateway,
  key,
  openDocument,
  listOperations,
  secret,
} from './openapi.ts';

openDocument();

const compiled = new Map<string, ValidateFunction>();

/** What is wrong with a value by the document's schema. */
function findFaults(schema: Record<string, unknown>, value: unknown): unknown {
  const place = JSON.stringify(schema).replaceAll('#/', 'document#/');
  const validate = compiled.get(place) ?? ajv.compile(JSON.parse(place));
  compiled.set(place, validate);
  return validate(value) ? [] : validate.errors;
}

function requireReplySchema(
  path: string,
  method: string,
  status: number,
  type: string,
): Record<string, unknown> {
  const replies = document.paths[path]?.[method.toLowerCase()]?.responses;
  const schema = (replies?.[String(status)] ?? replies?.default)?.content?.[type]?.schema;
  if (!schema) throw new Error(`nothing describes ${status} ${type} at ${method} ${path}`);
  return schema;
}

function requireExample(title: string): Record<string, unknown> {
  const [first] = document.components.schemas[title]?.examples ?? [];
  if (!first) throw new Error(`"${title}" has no example`);
  return first;
}

function post(path: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return postJson(`${gateway.url}${path}`, body, {
    authorization: `Bearer ${key}`,
    'anthropic-version': '2023-06-01',
    ...headers,
  });
}

async function readJson(response: Response): Promise<{ id: string }> {
  return z.looseObject({ id: z.string() }).parse(await response.json());
}

describe('the schemas of the document', () => {
  const families = [
    ['/v1/chat/completions', 'ChatCompletionRequest'],
    ['/v1/responses', 'ResponseRequest'],
    ['/v1/responses/compact', 'ResponseCompactRequest'],
    ['/v1/responses/input_tokens', 'ResponseCountRequest'],
    ['/alpha/v1/messages', 'MessageRequest'],
    ['/alpha/v1/messages/count_tokens', 'MessageCountRequest'],
    ['/beta/v1beta/models/{model}:generateContent', 'GenerateContentRequest'],
    ['/beta/v1beta/models/{model}:countTokens', 'GenerateContentCountRequest'],
    ['/v1/images/generations', 'ImageGenerationRequest'],
    ['/v1/rerank', 'RerankRequest'],
    ['/v2/rerank', 'RerankRequest'],
    ['/v1/moderations', 'ModerationRequest'],
  ] as const;
  /** What is never streamed. */
  const isWhole = (path: string): boolean => /count|compact|tokens|Tokens|rerank|moderations/.test(path);

  it.each(families)('match a whole reply at %s', async (path, title) => {
    const response = await post(fillPath(path), requireExample(title));
    expect(response.status).toBe(200);
    expect(
      findFaults(requireReplySchema(path, 'POST', 200, 'application/json'), await response.json()),
    ).toEqual([]);
  });

  it.each(families.filter(([path]) => !isWhole(path)))('match a stream at %s', async (path, title) => {
    const message = path.replace(':generateContent', ':streamGenerateContent');
    const response = await post(
      `${fillPath(message)}?alt=sse`,
      message === path ? { ...requireExample(title), stream: true } : requireExample(title),
    );
    const events = [...(await response.text()).matchAll(/^data: (\{.*)$/gm)].map(([, text]): unknown =>
      JSON.parse(text ?? ''),
    );
    expect(events.length).toBeGreaterThan(0);
    const schema = requireReplySchema(message, 'POST', 200, 'text/event-stream');
    for (const event of events) expect(findFaults(schema, event)).toEqual([]);
  });

  it.each(families)('match an error at %s', async (path) => {
    const response = await post(fillPath(path), {});
    expect(response.status).toBe(400);
    expect(
      findFaults(requireReplySchema(path, 'POST', 400, 'application/json'), await response.json()),
    ).toEqual([]);
  });

  it.each(families.filter(([path]) => !isWhole(path) && !path.includes('images')))(
    'match an error in the middle of a stream at %s',
    async (path, title) => {
      const called = path.replace(':generateContent', ':streamGenerateContent');
      const body = called === path ? { ...requireExample(title), stream: true } : requireExample(title);
      const response = await post(`${fillPath(called)}?alt=sse`, body, { 'x-break': 'yes' });
      const events = [...(await response.text()).matchAll(/^data: (\{.*)$/gm)].map(([, text]): unknown =>
        JSON.parse(text ?? ''),
      );
      expect([response.status, events.length > 1, JSON.stringify(events.at(-1))]).toEqual([
        200,
        true,
        expect.stringContaining('"error":{'),
      ]);
      const schema = requireReplySchema(called, 'POST', 200, 'text/event-stream');
      for (const event of events) expect(findFaults(schema, event)).toEqual([]);
    },
  );

  it('match a stream that is an array, and its errors, which are arrays too', async () => {
    const path = '/v1beta/models/{model}:streamGenerateContent';
    const example = requireExample('GenerateContentRequest');
    const send = async (body: object, headers = {}): Promise<[number, unknown, unknown]> => {
      const response = await post(fillPath(path), body, headers);
      const sent: unknown = await response.json();
      const schema = requireReplySchema(path, 'POST', response.status, 'application/json');
      return [response.status, sent, findFaults(schema, sent)];
    };
    const error = { error: { code: expect.any(Number), message: expect.any(String) } };
    const chunk = expect.objectContaining({ candidates: expect.any(Array) });
    expect(await send(example)).toMatchObject([200, expect.arrayContaining([chunk]), []]);
    expect(await send({})).toMatchObject([400, [error], []]);
    expect(await send(example, { authorization: 'Bearer sk-none' })).toMatchObject([401, [error], []]);
    const [status, elements, faults] = await send(example, { 'x-break': 'yes' });
    expect([status, Array.isArray(elements) && elements.at(-1), faults]).toMatchObject([200, error, []]);
    expect(elements).not.toHaveLength(1);
    expect(findFaults(requireReplySchema(path, 'POST', 400, 'application/json'), [{}])).not.toEqual([]);
  });

  it.each(families)(
    'reject a request that the gateway refuses at %s, and accept the example',
    (_path, title) => {
      const schema = { $ref: `#/components/schemas/${title}` };
      expect(findFaults(schema, requireExample(title))).toEqual([]);
      expect(
        findFaults(schema, { ...requireExample(title), provider: { routing: 'by the stars' } }),
      ).not.toEqual([]);
    },
  );

  it('match an edit, which is a form', async () => {
    const form = new FormData();
    const made = z
      .object({ data: z.tuple([z.object({ b64_json: z.string() })]) })
      .parse(await (await post('/v1/images/generations', requireExample('ImageGenerationRequest'))).json());
    for (const [name, value] of Object.entries(requireExample('ImageEditForm')))
      form.set(name, String(value));
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
      findFaults(
        requireReplySchema('/v1/images/edits', 'POST', 200, 'application/json'),
        await response.json(),
      ),
    ).toEqual([]);
  });

  it('match every page that is read with GET', async () => {
    const { headers } = await post('/v1/chat/completions', requireExample('ChatCompletionRequest'));
    const id = headers.get('x-request-id') ?? '';
    const account = 'tester';
    await postJson(
      `${adminUrl}/admin/budgets`,
      { scope: 'account', subject: account, limit: '5' },
      { authorization: `Bearer ${secret}` },
    );
    const kept = await readJson(await post('/v1/responses', { model: 'demo/echo', input: 'Hi' }));
    const item = { type: 'message', role: 'user', content: 'Hi', id: 'msg_1' };
    const conversation = await readJson(await post('/v1/conversations', { items: [item] }));
    const pages = listOperations().filter(({ method, path }) => method === 'GET' && path !== '/admin/events');
    for (const { method, path, operation } of pages) {
      const isOperators = operation.tags.includes('on the admin listener');
      const at = path
        .replace('/calls/{id}', `/calls/${id}`)
        .replace('/responses/{id}', `/responses/${kept.id}`)
        .replace('/conversations/{id}', `/conversations/${conversation.id}`)
        .replace('{item}', item.id)
        .replace('{account}', account)
        .replace('{budget}', '1')
        .replace('{key}', key.slice(-4))
        .replace('{id}', 'demo%2Fecho');
      const response = await fetch(`${isOperators ? adminUrl : gateway.url}${fillPath(at)}`, {
        headers: { authorization: `Bearer ${isOperators ? secret : key}` },
      });
      const type = response.headers.get('content-type')?.split(';')[0] ?? '';
      const body: unknown = type === 'application/json' ? await response.json() : await response.text();
      expect([path, response.status, findFaults(requireReplySchema(path, method, 200, type), body)]).toEqual([
        path,
        200,
        [],
      ]);
    }
  });

  it('match a call to a provider with several keys, by the number of its key', async () => {
    const { headers } = await post('/v1/chat/completions', requireExample('ChatCompletionRequest'));
    const response = await fetch(`${gateway.url}/v1/calls/${headers.get('x-request-id')}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    const detail = z.looseObject({ attempts: z.array(z.looseObject({})) }).parse(await response.json());
    const numbered = { ...detail, attempts: detail.attempts.map((attempt) => ({ ...attempt, key: 2 })) };
    expect(
      findFaults(requireReplySchema('/v1/calls/{id}', 'GET', 200, 'application/json'), numbered),
    ).toEqual([]);
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
      const response = await postJson(`${adminUrl}${path}`, order, headers);
      expect([
        path,
        response.status,
        findFaults(
          requireReplySchema(path.replace('/1/', '/{budget}/'), 'POST', status, 'application/json'),
          await response.json(),
        ),
      ]).toEqual([path, status, []]);
    }
  });
});
