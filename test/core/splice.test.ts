import fc from 'fast-check';
import { expect, it } from 'vitest';
import { locateString, splice, spliceBytes } from '../../core/crossing/splice.ts';
import type { Edit } from '../../core/protocol.ts';
import { character } from '../support/arbitrary.ts';

it('splice changes the value and no other byte', () => {
  const text =
    '{ "seed" : 9007199254740993,\n\t"model": "a" ,"t":1.0,  ' +
    '"metadata":{"model":"kept"}, "x":"\\u00e9\\"}{" }';
  expect(splice(text, [{ path: ['model'], value: 'openai "x"' }])).toBe(
    text.replace('"a"', '"openai \\"x\\""'),
  );
});

it.each([
  ['the first', '{"p":{"a":[1]}, "b":2}', '{"b":2}'],
  ['the last', '{"b":2 , "p":"}"}', '{"b":2}'],
  ['the only one', '{ "p":1 }', '{  }'],
  ['one in the middle', '{"a":1,"p":null,"b":2}', '{"a":1,"b":2}'],
])('splice removes %s member with one comma', (_, text, left) => {
  expect(splice(text, [{ path: ['p'], value: undefined }])).toBe(left);
});

it('splice adds missing members, in an inner object too', () => {
  expect(splice('{}', [{ path: ['stream_options', 'include_usage'], value: true }])).toBe(
    '{"stream_options":{"include_usage":true}}',
  );
  expect(
    splice('{"stream_options":{"x":1}}', [{ path: ['stream_options', 'include_usage'], value: true }]),
  ).toBe('{"stream_options":{"include_usage":true,"x":1}}');
  expect(
    splice('{"stream_options":null}', [{ path: ['stream_options', 'include_usage'], value: true }]),
  ).toBe('{"stream_options":{"include_usage":true}}');
});

it('splice edits several members of one inner object, and adds them together', () => {
  const edits: Edit[] = [
    { path: ['a', 'b'], value: undefined },
    { path: ['a', 'c'], value: 1 },
    { path: ['a', 'd'], value: 2 },
  ];
  expect(splice('{"a":{"b":0,"c":0.0,"e":1.0},"f":3}', edits)).toBe('{"a":{"d":2,"c":1,"e":1.0},"f":3}');
  expect(splice('{"a":null}', edits)).toBe('{"a":{"c":1,"d":2}}');
  expect(splice('{"f":3}', edits)).toBe('{"a":{"c":1,"d":2},"f":3}');
});

it('splice agrees with the same edits to the parsed value, for any object', () => {
  // No name ends in a backslash: JSON.parse of V8 14.6 confuses such a name with one that it has read
  // before.
  const names = fc.constantFrom('a', 'b', 'c', 'model', 'x y', '"', '\\n', 'é');
  const objects = fc.dictionary(names, fc.jsonValue());
  const edits = fc.uniqueArray(
    fc.record({ name: names, value: fc.option(fc.jsonValue(), { nil: undefined }) }),
    { selector: ({ name }) => name, maxLength: 5 },
  );
  fc.assert(
    fc.property(objects, edits, fc.constantFrom(undefined, 1, '\t'), (object, wanted, indent) => {
      const expected: Record<string, unknown> = { ...object };
      for (const { name, value } of wanted) {
        if (value === undefined) delete expected[name];
        else expected[name] = value;
      }
      const made = splice(
        JSON.stringify(object, null, indent),
        wanted.map(({ name, value }): Edit => ({ path: [name], value })),
      );
      expect(JSON.parse(made)).toEqual(JSON.parse(JSON.stringify(expected)));
    }),
  );
});

const edits: readonly Edit[] = [
  { path: ['model'], value: 'up' },
  { path: ['provider'], value: undefined },
  { path: ['options', 'usage'], value: true },
];

it('spliceBytes returns the bytes of the edited text, for any body', () => {
  const names = fc.constantFrom('model', 'provider', 'options', 'é', '“', '😀', '\u00ff');
  const says = fc.oneof(fc.string({ unit: character }), fc.jsonValue());
  fc.assert(
    fc.property(fc.dictionary(names, says), (object) => {
      const text = JSON.stringify(object);
      expect(spliceBytes(Buffer.from(text), text, edits).toString()).toBe(splice(text, edits));
    }),
  );
});

it('spliceBytes returns the same bytes if there is nothing to edit', () => {
  const bytes = Buffer.from('{"a":1.0,"a":"“"}');
  expect(spliceBytes(bytes, bytes.toString(), [])).toBe(bytes);
});

it('locateString finds a string at its path and not one of the same name elsewhere', () => {
  const text = '{"tools":[{"model":"no"}],"response":{"id":"r","model":"yes"}}';
  const place = locateString(text, ['response', 'model']);
  expect(place && text.slice(place.start, place.end)).toBe('"yes"');
  expect(locateString(text, ['model'])).toBeUndefined();
  expect(locateString('{"model":7}', ['model'])).toBeUndefined();
});
