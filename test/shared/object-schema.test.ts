import { expect, it } from 'vitest';
import { resolvePointer } from '../../core/index.ts';
import { fitStrict } from '../../plugins/shared/openai/formats.ts';
import { collectLosses } from '../../plugins/shared/wire-kit/losses.ts';
import { toObjectSchema } from '../../plugins/shared/wire-kit/object-schema.ts';
import { expectLinear } from '../support/linear.ts';

function fitSchema(schema: unknown): { readonly schema: unknown; readonly reasons: number } {
  const { losses, lose } = collectLosses();
  return { schema: toObjectSchema(schema, 'tools[0]', lose), reasons: losses.length };
}

const text = { type: 'string' };

it('the schema of a tool stays unchanged if its root is plainly an object', () => {
  const plain = { type: 'object', properties: { a: { anyOf: [text] } } };
  expect(fitSchema(plain).schema).toBe(plain);
});

it.each([
  ['nothing', undefined, { type: 'object', properties: {} }, 0],
  ['no type', { properties: { a: text } }, { type: 'object', properties: { a: text } }, 0],
  ['several types', { type: ['object', 'null'], properties: {} }, { type: 'object', properties: {} }, 1],
  [
    'a reference',
    { $ref: '#/$defs/a', $defs: { a: { type: 'object', properties: { a: text } } } },
    { type: 'object', properties: { a: text }, $defs: { a: { type: 'object', properties: { a: text } } } },
    0,
  ],
  ['a reference to itself', { $ref: '#' }, { type: 'object', properties: {} }, 0],
  ['a reference to nowhere', { $ref: '#/%zz/a' }, { type: 'object', properties: {} }, 0],
  [
    'a choice',
    {
      anyOf: [
        { properties: { a: text, b: text }, required: ['a', 'b'] },
        { properties: { a: text }, required: ['a'] },
      ],
    },
    { type: 'object', properties: { a: text, b: text }, required: ['a'] },
    1,
  ],
  [
    'a choice of what is required',
    { type: 'object', properties: { a: text }, oneOf: [{ required: ['a'] }, {}] },
    { type: 'object', properties: { a: text } },
    1,
  ],
  [
    'all of several',
    {
      allOf: [
        { properties: { a: text }, required: ['a'] },
        { properties: { b: text }, required: ['b'] },
      ],
    },
    { type: 'object', properties: { a: text, b: text }, required: ['a', 'b'] },
    1,
  ],
  [
    'a closed one beside a choice',
    { type: 'object', additionalProperties: false, anyOf: [{ properties: { a: text } }] },
    { type: 'object', properties: { a: text } },
    1,
  ],
])('the schema of a tool with %s becomes an object schema', (_, schema, expected, reasons) => {
  expect(fitSchema(schema)).toEqual({ schema: expected, reasons });
});

it('the schema of a tool with choices that lead back to it is converted at once', () => {
  const itself = Array.from({ length: 8 }, () => ({ $ref: '#' }));
  const expected = { type: 'object', properties: { a: text } };
  expect(fitSchema({ anyOf: [...itself, { properties: { a: text } }] })).toEqual({
    schema: expected,
    reasons: 1,
  });
});

it('the schema of a tool with many members in its choices is converted in linear time', async () => {
  await expectLinear((count) => {
    const names = Array.from({ length: count }, (_, place) => `member${place}`);
    const { schema } = fitSchema({ anyOf: [{ required: names }, { required: names.toReversed() }] });
    expect(schema).toMatchObject({ required: { length: count } });
  }, 2000);
});

it('the schema of a tool is searched by pointers, never beyond its own members', () => {
  expect(resolvePointer({ 'a/b': { '%': 1 } }, '#/a~1b/%25')).toBe(1);
  expect(resolvePointer({}, '#/constructor')).toBeUndefined();
  expect(resolvePointer({}, 'https://example.com/schema')).toBeUndefined();
});

const closeObject = (properties: object, required: readonly string[]): object => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});

it.each([
  [closeObject({ a: text }, ['a']), true],
  [closeObject({ a: text }, []), undefined],
  [{ type: 'object', properties: {} }, undefined],
  [closeObject({ a: { type: 'array', items: { type: 'object' } } }, ['a']), undefined],
])('a strict tool with %j is %s', (schema, strict) => {
  const lost: string[] = [];
  expect(fitStrict({ strict: true }, schema, 'tools[0]', (path) => lost.push(path))).toBe(strict);
  expect(lost).toEqual(strict ? [] : ['tools[0].strict']);
});
