/**
 * Every endpoint refuses what two readers read differently: a field that occurs twice, of which a provider
 * may read the other one, and half of a surrogate pair, which is no character.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { images } from '../../plugins/protocols/images/index.ts';
import { textProtocols } from '../support/front.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { acceptAnyKey } from '../support/test-provider.ts';
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

describe.each(endpoints.filter(({ path }) => !path.endsWith('/edits')))('$path', ({ path, body, words }) => {
  const refuse = async (text: string, place: string, message: string): Promise<void> => {
    const headers = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' };
    const response = await fetch(gateway.url + path, { method: 'POST', headers, body: text });
    const error = {
      openai: { message, param: place },
      anthropic: { message },
      google: { message, status: 'INVALID_ARGUMENT' },
    }[words];
    expect([response.status, await response.json()]).toEqual([
      400,
      expect.objectContaining({ error: expect.objectContaining(error) }),
    ]);
  };

  it('refuses a body that contains any of its fields twice, and names the field', async () => {
    const cases = [...doubleFields(body)];
    expect(cases.length).toBeGreaterThan(4);
    for (const each of cases)
      await refuse(each.text, each.path, `The body contains the field "${each.path}" twice; send it once.`);
  });

  it('refuses half of a surrogate pair in any of its texts, and names the field', async () => {
    const cases = [...breakTexts(body)];
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
