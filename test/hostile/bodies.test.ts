/**
 * Malicious and faulty bodies: each gets an error in the client's own format that names the field, and the
 * next request succeeds. The full form is among the faults.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openHarness, type Harness } from '../support/harness.ts';
import { endpoints } from './endpoints.ts';
import { readCorpus, openHostileHarness, sendHostile, type HostileHarness } from './inputs.ts';

let hostile: HostileHarness;
beforeAll(async () => void (hostile = await openHostileHarness()));
afterAll(() => hostile.close());

function expectNothingFailed(): void {
  expect(
    hostile.gateway.log.filter((line) => line.includes('"level":50') || line.includes('"level":60')),
  ).toEqual([]);
  expect(
    hostile.gateway.ends.flatMap((end) =>
      end.type !== 'replayed' && end.error?.code === 'internal' ? [end.error] : [],
    ),
  ).toEqual([]);
  expect({}).not.toHaveProperty('polluted');
}

it.each(endpoints.map((endpoint) => [endpoint.path, endpoint] as const))(
  'every endpoint (%s) answers a valid body',
  async (_, endpoint) => {
    expect(await hostile.findFault({ endpoint, body: JSON.stringify(endpoint.body) })).toBeUndefined();
  },
);

it('every endpoint answers the bodies of the corpus in its own format', async () => {
  const faults: string[] = [];
  for (const { name, input } of readCorpus()) {
    const fault = await hostile.findFault(input).catch(String);
    if (fault !== undefined) faults.push(`${name}: ${fault.slice(0, 300)}`);
  }
  expect(faults).toEqual([]);
  expectNothingFailed();
});

it('every endpoint answers many invalid bodies in its own format', async () => {
  const before = hostile.gateway.ends.length;
  await sendHostile(hostile, 700);
  // They fail in all sorts of places, and some are valid.
  expect(new Set(hostile.gateway.ends.slice(before).map(({ type }) => type))).toEqual(
    new Set(['refused', 'failed', 'answered']),
  );
  expectNothingFailed();
  expect(await hostile.gateway.verb('audit')).toMatchObject({ ok: true, pending: 0 });
});

interface Doubled {
  readonly path: string;
  readonly text: string;
}

/** The value as JSON, once for each of its fields with that field written twice. */
function* doubleFields(value: unknown, path = ''): Generator<Doubled> {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      for (const inner of doubleFields(item, `${path}[${index}]`)) {
        yield {
          path: inner.path,
          text: `[${value.map((each, at) => (at === index ? inner.text : JSON.stringify(each))).join(',')}]`,
        };
      }
    }
  } else if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value);
    const written = members.map(([name, member]) => `${JSON.stringify(name)}:${JSON.stringify(member)}`);
    for (const [index, [name, member]] of members.entries()) {
      const place = path === '' ? name : `${path}.${name}`;
      yield { path: place, text: `{${[...written, written[index]].join(',')}}` };
      for (const inner of doubleFields(member, place))
        yield {
          path: inner.path,
          text: `{${written.with(index, `${JSON.stringify(name)}:${inner.text}`).join(',')}}`,
        };
    }
  }
}

/** The value as JSON, once for each of its texts and field names with half of an emoji added to that. */
function* breakTexts(value: unknown, path = ''): Generator<Doubled> {
  if (typeof value === 'string') yield { path, text: JSON.stringify(`${value}\ud83d`) };
  if (typeof value !== 'object' || value === null) return;
  const isList = Array.isArray(value);
  const members = Object.entries(value);
  const write = (name: string, json: string): string => (isList ? json : `${JSON.stringify(name)}:${json}`);
  const written = members.map(([name, member]) => write(name, JSON.stringify(member)));
  const wrap = (each: readonly string[]): string => (isList ? `[${each.join()}]` : `{${each.join()}}`);
  for (const [index, [name, member]] of members.entries()) {
    const place = isList ? `${path}[${name}]` : `${path}${path === '' ? '' : '.'}${name}`;
    for (const inner of breakTexts(member, place))
      yield { path: inner.path, text: wrap(written.with(index, write(name, inner.text))) };
    const broken = write(`\ude00${name}`, JSON.stringify(member));
    if (!isList)
      yield {
        path: `${path}${path === '' ? '' : '.'}\ufffd${name}`,
        text: wrap(written.with(index, broken)),
      };
  }
}

describe.each(endpoints.filter(({ path }) => !path.endsWith('/edits')))('$path', (endpoint) => {
  const refuse = async (text: string, place: string, message: string): Promise<void> => {
    const response = await hostile.send({ endpoint, body: text });
    const error = {
      openai: { error: { message, param: place } },
      anthropic: { error: { message } },
      google: { error: { message, status: 'INVALID_ARGUMENT' } },
      cohere: { message },
    }[endpoint.words];
    expect([response.status, JSON.parse(response.text)]).toMatchObject([400, error]);
  };

  it('refuses a body that contains any of its fields twice, and names the field', async () => {
    const cases = [...doubleFields(endpoint.body)];
    expect(cases.length).toBeGreaterThan(4);
    for (const each of cases)
      await refuse(each.text, each.path, `The body contains the field "${each.path}" twice; send it once.`);
  });

  it('refuses half of a surrogate pair in any of its texts, and names the field', async () => {
    const cases = [...breakTexts(endpoint.body)];
    expect(cases.length).toBeGreaterThan(4);
    for (const each of cases)
      await refuse(
        each.text,
        each.path,
        `The field "${each.path}" contains half of a surrogate pair, such as \\ud83d alone: ` +
          'send whole characters.',
      );
  });
});

const model = 'openai/gpt-4o-mini';
const messages = [{ role: 'user', content: 'Hello!' }];

let harness: Harness;
beforeAll(async () => {
  harness = await openHarness({ settings: { server: { bodyLimit: 20_000 } } });
});
afterEach(async () => {
  // The process survives.
  expect((await harness.post({ model, messages })).status).toBe(200);
});

async function readRefusal(
  body: unknown,
  init: RequestInit = {},
): Promise<{ status: number; error: unknown; retry: string | null }> {
  const sent = harness.vendor.requests.length;
  const response = await harness.post(body, init);
  const said: unknown = await response.json();
  expect(response.headers.get('content-type')).toBe('application/json');
  expect(harness.vendor.requests.length).toBe(sent);
  return {
    status: response.status,
    error: typeof said === 'object' && said && 'error' in said ? said.error : undefined,
    retry: response.headers.get('x-should-retry'),
  };
}

it.each([
  ['that is empty', ''],
  ['that is no JSON', '{"model":'],
  ['that is a list', '[]'],
  ['in invalid UTF-8', new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
  ['that says a field twice', `{"model":"${model}","model":"x","messages":[]}`],
  ['nested without end', `{"messages":${'['.repeat(9000)}${']'.repeat(9000)}}`],
  ['nested one level deeper than it may be', `{"messages":${'['.repeat(128)}${']'.repeat(128)}}`],
  ['of objects nested without end', `${'{"a":'.repeat(3000)}1${'}'.repeat(3000)}`],
  ['in invalid UTF-8 within a value', new Uint8Array([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d])],
  ['that begins with a mark of the byte order', `\ufeff${JSON.stringify({ model, messages })}`],
  ['with something behind it', `${JSON.stringify({ model, messages })}{}`],
  [
    'of many keys and no call',
    JSON.stringify(Object.fromEntries(Array.from({ length: 1500 }, (_, index) => [`k${index}`, 1]))),
  ],
  [
    'with a number too large to be one',
    `{"model":"${model}","messages":[{"role":"user","content":"a"}],"max_tokens":1e400}`,
  ],
])('a body %s is refused', async (_, body) => {
  expect(await readRefusal(body)).toMatchObject({
    status: 400,
    retry: 'false',
    error: { type: 'invalid_request_error', message: expect.any(String) },
  });
});

it('a body over the limit is refused as too large, with or without a content-length', async () => {
  const large = JSON.stringify({ model, messages: [{ role: 'user', content: 'a'.repeat(30_000) }] });
  expect(await readRefusal(large)).toMatchObject({ status: 413 });
  const { port } = new URL(harness.gateway.url);
  const answer = await new Promise<string>((resolve) => {
    const socket = connect(Number(port), '127.0.0.1', () => {
      socket.write(
        `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${harness.key}\r\n` +
          'transfer-encoding: chunked\r\n\r\n',
      );
      for (let index = 0; index < 5; index += 1) socket.write(`1388\r\n${'a'.repeat(5000)}\r\n`);
    });
    socket.on('error', () => undefined);
    socket.once('data', (data) => (socket.destroy(), resolve(data.toString())));
  });
  expect(answer).toMatch(/^HTTP\/1\.1 413/);
});

it('a body with a form content type is refused, and the error names the type to send', async () => {
  const form = `--there\r\nContent-Disposition: form-data; name="model"\r\n\r\n${model}\r\n--there--\r\n`;
  const refusal = await readRefusal(form, {
    headers: { 'content-type': 'multipart/form-data; boundary=there' },
  });
  expect(refusal).toMatchObject({
    status: 415,
    retry: 'false',
    error: { code: 'unsupported_media_type', message: 'The body must be sent as application/json.' },
  });
});

it('a body of exactly the maximum size is accepted, and one byte more is refused', async () => {
  const text = JSON.stringify({ model, messages });
  expect((await harness.post(text.padEnd(20_000))).status).toBe(200);
  expect((await harness.post(text.padEnd(20_001))).status).toBe(413);
});

it('a model without its provider gets an error that explains how models are named', async () => {
  expect(await readRefusal({ model: 'gpt-4o-mini', messages })).toMatchObject({
    status: 400,
    error: { param: 'model', message: expect.stringContaining('/') },
  });
});

it.each(['__proto__', 'constructor', 'prototype', 'toString'])(
  'a field named like a property of every object is a field like others: %s',
  async (name) => {
    const response = await harness.post(
      `{"model":"${model}","messages":[{"role":"user","content":"Hello!"}],` +
        `"metadata":{"${name}":"x"},"user":"u"}`,
    );
    expect(response.status).toBe(200);
    expect(Reflect.get({}, 'x')).toBeUndefined();
    expect(JSON.parse(harness.vendor.requests.at(-1)?.body.toString() ?? '').user).toBe('u');
  },
);

it("an address survives a header named like a prototype's property, and half a request", async () => {
  const { port } = new URL(harness.gateway.url);
  const answer = await new Promise<string>((resolve) => {
    const socket = connect(Number(port), '127.0.0.1', () =>
      socket.write(
        'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n__proto__: y\r\nconstructor: z\r\n' +
          'content-length: 2\r\n\r\n{}',
      ),
    );
    socket.once('data', (data) => (socket.destroy(), resolve(data.toString())));
  });
  expect(answer).toMatch(/^HTTP\/1\.1 401/);
  const ended = harness.gateway.ends.length;
  const half = connect(Number(port), '127.0.0.1', () =>
    half.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${harness.key}\r\n` +
        'expect: 100-continue\r\ncontent-length: 50\r\n\r\n{"a',
    ),
  );
  // The answer to `expect` says that the call has begun.
  await once(half, 'data');
  half.destroy();
  expect((await harness.gateway.ended(ended + 1))[ended]).toMatchObject({
    type: 'refused',
    error: { code: 'client_gone' },
  });
});
