/**
 * Request bodies are read with limits on their structure, which is counted before it is parsed. Each field
 * comes once: of two, a provider might read another than the gateway does.
 */
import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { countStructure, parseJson, readCarefully, type Structure } from '../../core/http/json-body.ts';
import { isGatewayError } from '../../core/index.ts';

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

/** The field that a body is refused for. */
function findRepeatedField(text: string): string | undefined {
  try {
    parseJson(Buffer.from(text));
    return undefined;
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    expect(error.code).toBe('invalid_request');
    expect(error.message).toBe(`The body contains the field "${error.details.param}" twice; send it once.`);
    return error.details.param;
  }
}

it.each([
  ['at the top', '{"model":"a","model":"b"}', 'model'],
  [
    'in an object',
    '{"generationConfig":{"maxOutputTokens":1,"topK":1,"maxOutputTokens":9}}',
    'generationConfig.maxOutputTokens',
  ],
  ['in a list', '{"tools":[{"type":"a"},{"type":"b","x":[1,2,{}],"type":"c"}]}', 'tools[1].type'],
  ['after nested objects', '{"a":{"b":{"c":1}},"a":2}', 'a'],
  ['with an escaped spelling', '{"model":"a","mod\\u0065l":"b"}', 'model'],
  ['with space before the colon', '{"a" :1,"a"\n:2}', 'a'],
  ['hidden by a string that begins with a colon', '{"a":":)","b" :1,"a" :2}', 'a'],
  ['hidden by a quoted field in a string', '{"a":"\\"x\\":1","a":2}', 'a'],
  ['with a name that objects treat specially', '{"__proto__":1,"__proto__":2}', '__proto__'],
  ['with an empty name', '{"a":{"":1,"":2}}', 'a.'],
  ['with a name that ends in a backslash', '{"a\\\\":1,"a\\\\":2}', 'a\\'],
  ['with a name of another script', '{"prénom":1,"prénom":"名"}', 'prénom'],
  ['with numbers as names', '{"1":1,"0":0,"1":2}', '1'],
])('the parser refuses a duplicate field %s', (_, text, field) => {
  expect(findRepeatedField(text)).toBe(field);
});

it.each(['"\\ud83d\\ude00"', '"\\\\ud83d"', '"\\uD83D\\uDE00 \u{1f600}"', '"\\u00e9"'])(
  'the parser accepts whole characters, however they are escaped: %s',
  (text) => {
    expect(parseJson(Buffer.from(`{"a":${text}}`)).value).toEqual({ a: JSON.parse(text) });
  },
);

it.each([
  ['{"a":["",{"b":"x\\ud83d"}]}', 'a[1].b'],
  ['{"a":"\\ude00\\ud83d"}', 'a'],
  ['{"a":{"\\uD83D":1}}', 'a.\ufffd'],
])('the parser refuses half of a surrogate pair in %s at %s', (text, param) => {
  expect(() => parseJson(Buffer.from(text))).toThrow(
    expect.objectContaining({ code: 'invalid_request', details: expect.objectContaining({ param }) }),
  );
});

it.each([
  '{"a":{"a":{"a":1}},"b":[{"a":1},{"a":1}]}',
  '{"a,":1,"b":":","c[":{"d":"\\\\"}}',
  '{"a":"{\\"a\\":1,\\"a\\":2}"}',
  '{"a":"\\"","b":"\\\\\\":","c":"b\\" :"}',
  '{ "a" : ": " , "b\\"" : [ ":" ] }',
])('the parser accepts %s', (text) => {
  expect(findRepeatedField(text)).toBeUndefined();
});

it('the parser shortens a long path in its error', () => {
  const long = `"${'x'.repeat(10_000)}"`;
  expect(
    findRepeatedField(`{${'"a":{'.repeat(90)}${long}:1,${long}:2${'}'.repeat(91)}`)?.length,
  ).toBeLessThan(500);
});

const withName = (name: string): string => `{"model":"a","${name}":100000}`;

it.each([
  ['max_token\\\\', 'max_token\\u0073'],
  ['ma\\\\u0078_toke', 'ma\\u0078_tokens'],
  ['\\\\', '\\u540d'],
])('the parser reads an escaped name correctly after a body with a field %s', (before, name) => {
  for (let time = 0; time < 3; time += 1) parseJson(Buffer.from(withName(before)));
  expect(parseJson(Buffer.from(withName(name))).value).toEqual({
    model: 'a',
    [String(JSON.parse(`"${name}"`))]: 100_000,
  });
});

it('the parser finds an escaped duplicate after a body that would hide it', () => {
  const once = '"max_tokens":1,"max_token\\';
  for (let time = 0; time < 3; time += 1) parseJson(Buffer.from(`{${once}\\":1}`));
  expect(findRepeatedField(`{${once}u0073":1}`)).toBe('max_tokens');
});

it('the parser accepts a name that ends with a backslash', () => {
  expect(parseJson(Buffer.from('{"C:\\\\":"\\u0061"}')).value).toEqual({ 'C:\\': 'a' });
});

type Tree = { readonly text: string; readonly repeats: boolean };
const space = fc.constantFrom('', '', '', ' ', '\n\t');
const name = fc.oneof(
  fc.constantFrom('a', 'b', ':', ',', '"', '\\', '{', ' ', '', 'é', '__proto__', '0'),
  fc.string({ maxLength: 3 }),
);
const escapeUnits = (char: string): string =>
  [...char].map((_, at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`).join('');
const written = fc
  .tuple(name, fc.boolean())
  .map(([text, escapes]) => (escapes ? `"${Array.from(text, escapeUnits).join('')}"` : JSON.stringify(text)));
const { object } = fc.letrec<{ value: Tree; object: Tree }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc
      .oneof(written, fc.constantFrom('1', '-0.5e3', 'null', 'true'))
      .map((text): Tree => ({ text, repeats: false })),
    tie('object'),
    fc.array(fc.tuple(space, tie('value')), { maxLength: 4 }).map((items): Tree => ({
      text: `[${items.map(([gap, { text }]) => gap + text).join(',')}]`,
      repeats: items.some(([, { repeats }]) => repeats),
    })),
  ),
  object: fc.array(fc.tuple(written, space, space, tie('value')), { maxLength: 5 }).map((members): Tree => {
    const names = members.map(([key]): unknown => JSON.parse(key));
    const texts = members.map(
      ([key, before, after, value]) => `${before}${key}${after}:${before}${value.text}${after}`,
    );
    return {
      text: `{${texts.join(',')}}`,
      repeats: new Set(names).size < names.length || members.some(([, , , { repeats }]) => repeats),
    };
  }),
}));

it('the parser refuses a body exactly if an object has a field twice, however it is spelled', () => {
  let refused = 0;
  fc.assert(
    fc.property(object, ({ text, repeats }) => {
      expect(findRepeatedField(text) !== undefined).toBe(repeats);
      if (repeats) refused += 1;
      else
        expect(JSON.stringify(readCarefully(text))).toBe(JSON.stringify(parseJson(Buffer.from(text)).value));
    }),
    { numRuns: 1500 },
  );
  expect(refused).toBeGreaterThan(100);
});

const ample = { depth: 1000, fields: 1e9, values: 1e9 };

function countText(text: string, limits: Partial<typeof ample> = {}): Structure {
  return countStructure(Buffer.from(text), { ...ample, ...limits });
}

/** Counts a parsed value by visiting it. */
function countValue(value: unknown): Omit<Structure, 'exceeded'> & { depth: number } {
  const sum = { members: 0, listed: 0, values: 0, depth: 0 };
  if (typeof value !== 'object' || value === null) return sum;
  const children: unknown[] = Object.values(value);
  for (const child of children) {
    const inner = countValue(child);
    sum.members += inner.members;
    sum.listed +=
      inner.listed + (Array.isArray(value) && typeof child === 'object' && child !== null ? 1 : 0);
    sum.values += inner.values;
    sum.depth = Math.max(sum.depth, inner.depth);
  }
  if (!Array.isArray(value)) sum.members += children.length;
  sum.values += Math.max(0, children.length - 1);
  sum.depth += 1;
  return sum;
}

const piece = fc.constantFrom('"', '\\', '\\"', '{"a":[', ']},', ':', ',', '名', '\n', 'x'.repeat(63));
const words = fc.oneof(
  fc.string({ maxLength: 8 }),
  fc.array(piece, { maxLength: 12 }).map((parts) => parts.join('')),
  fc.tuple(fc.nat(140), piece).map(([length, end]) => 'y'.repeat(length) + end),
  fc.tuple(fc.nat(140), fc.nat(5)).map(([length, more]) => 'z'.repeat(length) + '\\'.repeat(more)),
);
const { tree } = fc.letrec((tie) => ({
  tree: fc.oneof(
    { depthSize: 'small' },
    fc.oneof(words, fc.double({ noNaN: true }), fc.constantFrom(null, true)),
    fc.array(tie('tree'), { maxLength: 5 }),
    fc.dictionary(words, tie('tree'), { maxKeys: 5 }),
  ),
}));

it('the count of JSON text is that of its value, whatever its strings contain', () => {
  fc.assert(
    fc.property(tree, fc.constantFrom(undefined, 1, '\t'), (value, indent) => {
      const { depth, ...counts } = countValue(value);
      const text = JSON.stringify(value, undefined, indent);
      expect(countText(text, { depth })).toEqual({ ...counts, exceeded: undefined });
      const limits = { fields: counts.members + counts.listed, values: counts.values, depth };
      expect(countText(text, limits).exceeded).toBeUndefined();
      for (const name of ['fields', 'values', 'depth'] as const) {
        if (limits[name] === 0) continue;
        expect(countText(text, { [name]: limits[name] - 1 }).exceeded).toBe(name);
      }
    }),
    { numRuns: 1000 },
  );
});

it.each([
  ['a string without an end', `{"a":"${'x'.repeat(200)}[[[[[`],
  ['a string that ends in a backslash', `{"a":"${'x'.repeat(62)}\\`],
  ['more ends than beginnings', '}]}]}{"a":[]'],
])('the count of JSON text comes to an end for %s', (_, text) => {
  expect(countText(text)).toMatchObject({ members: 1, listed: 0, exceeded: undefined });
});

it('the count of JSON text skips a long string in one search', () => {
  const bytes = Buffer.from(`{"a":"${'QUJD:,[{'.repeat(100_000)}","b":1}`);
  const search = vi.spyOn(bytes, 'indexOf');
  expect(countStructure(bytes, ample)).toEqual({ members: 2, listed: 0, values: 1, exceeded: undefined });
  expect(search).toHaveBeenCalledOnce();
});
