/**
 * Every endpoint refuses a field that occurs twice: a provider may read one of them, and the gateway the
 * other.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { images } from '../../plugins/protocols/images/index.ts';
import { textProtocols } from '../support/front.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { acceptAnyKey } from '../support/station.ts';
import { endpoints } from './endpoints.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway({
    plugins: [acceptAnyKey(), ...textProtocols(), images()],
  });
});
afterAll(() => gateway.close());

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

describe.each(endpoints.filter(({ path }) => !path.endsWith('/edits')))('$path', ({ path, body, words }) => {
  it('refuses a body that contains any of its fields twice, and names the field', async () => {
    const cases = [...doubleFields(body)];
    expect(cases.length).toBeGreaterThan(4);
    for (const each of cases) {
      const headers = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' };
      const response = await fetch(gateway.url + path, { method: 'POST', headers, body: each.text });
      const message = `The body contains the field "${each.path}" twice; send it once.`;
      const error = {
        openai: { message, param: each.path },
        anthropic: { message },
        google: { message, status: 'INVALID_ARGUMENT' },
      }[words];
      expect([response.status, await response.json()]).toEqual([
        400,
        expect.objectContaining({ error: expect.objectContaining(error) }),
      ]);
    }
  });
});
