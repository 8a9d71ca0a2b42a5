import { expect, it } from 'vitest';
import { parseJson } from '../../core/http/json-body.ts';

it('the reader returns the value with its exact text and bytes', () => {
  const bytes = Buffer.from(' {"a": 1.0}');
  const read = parseJson(bytes);
  expect(read).toEqual({ bytes, text: ' {"a": 1.0}', value: { a: 1 } });
  expect(read.bytes).toBe(bytes);
});

const buildFields = (count: number): object =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, 0]));

/** Ten objects in a list: each counts as a field, and so does the list. */
const buildTools = (fields: number): Buffer =>
  Buffer.from(
    JSON.stringify({
      tools: [buildFields(fields - 11 - 9 * 9000), ...Array.from({ length: 9 }, () => buildFields(9000))],
    }),
  );

it('the reader accepts as many fields as a conversation can have', () => {
  expect(parseJson(buildTools(100_000)).bytes.length).toBeGreaterThan(800_000);
});

it('the reader names the first field beyond the limit at the top level', () => {
  const buildRoot = (fields: number): Buffer => Buffer.from(JSON.stringify(buildFields(fields)));
  expect(parseJson(buildRoot(1000)).value).toHaveProperty('f999');
  expect(() => parseJson(buildRoot(1001))).toThrow(
    expect.objectContaining({
      code: 'invalid_request',
      details: expect.objectContaining({ param: 'f1000' }),
    }),
  );
});

it('the reader names the first field beyond the limit of an object', () => {
  const buildMetadata = (fields: number): Buffer =>
    Buffer.from(JSON.stringify({ metadata: buildFields(fields) }));
  expect(parseJson(buildMetadata(20_000)).value).toHaveProperty('metadata.f19999');
  expect(() => parseJson(buildMetadata(20_001))).toThrow(
    expect.objectContaining({
      code: 'invalid_request',
      details: expect.objectContaining({ param: 'f20000' }),
    }),
  );
});

it.each([
  ['more fields than that', buildTools(100_001), 'more than 100000 fields'],
  ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 'UTF-8'],
  ['invalid JSON', Buffer.from('{"a":'), 'not valid JSON'],
  ['an empty body', Buffer.from(''), 'not valid JSON'],
  ['a byte order mark', Buffer.from('\ufeff{}'), 'not valid JSON'],
  ['a list', Buffer.from('[]'), 'JSON object'],
  ['null', Buffer.from('null'), 'JSON object'],
  ['deep nesting', Buffer.from(`{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`), 'nested deeper'],
])('the reader refuses %s', (_, bytes, message) => {
  expect(() => parseJson(bytes)).toThrow(message);
});

it('the reader accepts deep nesting within the limit', () => {
  expect(() => parseJson(Buffer.from(`{"a":${'['.repeat(100)}${']'.repeat(100)}}`))).not.toThrow();
});
