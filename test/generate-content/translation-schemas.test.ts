import { describe, expect, it } from 'vitest';
import { isObject } from '../support/json.ts';
import { encode } from './bodies.ts';

describe('encoding tools', () => {
  it('inlines the references of a schema and makes its root an object', () => {
    const schema = {
      $defs: { side: { enum: ['port', '$ref'] }, both: { items: { $ref: '#/$defs/side' } } },
      properties: { a: { $ref: '#/$defs/side', description: 'A side.' }, $ref: { $ref: '#/$defs/both' } },
    };
    const { body, lost } = encode({
      tools: [
        { type: 'function', name: 'f', description: 'd', schema },
        { type: 'function', name: 'g', strict: true },
      ],
    });
    expect(body.tools).toEqual([
      {
        functionDeclarations: [
          {
            name: 'f',
            description: 'd',
            parametersJsonSchema: {
              type: 'object',
              properties: {
                a: { enum: ['port', '$ref'], description: 'A side.' },
                $ref: { items: { enum: ['port', '$ref'] } },
              },
            },
          },
          { name: 'g' },
        ],
      },
    ]);
    expect(lost).toEqual(['tools[1].strict']);
  });

  it('keeps references of a schema to itself, and reports those that lead nowhere', () => {
    const tree = {
      $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } } } },
      type: 'object',
      properties: { root: { $ref: '#/$defs/node' }, lost: { $ref: 'https://x.example/schema' } },
    };
    const { body, lost } = encode({ tools: [{ type: 'function', name: 'f', schema: tree }] });
    expect(body.tools).toMatchObject([
      {
        functionDeclarations: [
          {
            parametersJsonSchema: {
              $defs: tree.$defs,
              properties: {
                root: { type: 'object', properties: { next: { $ref: '#/$defs/node' } } },
                lost: {},
              },
            },
          },
        ],
      },
    ]);
    expect(lost).toEqual(['tools[0].schema']);
  });

  /** The parameters that we send for a tool with this schema. */
  const encodeParameters = (schema: Record<string, unknown>): unknown => {
    const { tools } = encode({ tools: [{ type: 'function', name: 'f', schema }] }).body;
    const [tool]: unknown[] = Array.isArray(tools) ? tools : [];
    const [declared]: unknown[] =
      isObject(tool) && Array.isArray(tool.functionDeclarations) ? tool.functionDeclarations : [];
    return isObject(declared) ? declared.parametersJsonSchema : undefined;
  };

  it('turns references to the whole schema or a path into definitions: Gemini takes no others', () => {
    const folder = {
      type: 'object',
      properties: { name: { type: 'string' }, inner: { type: 'array', items: { $ref: '#' } } },
    };
    const named = {
      type: 'object',
      properties: { name: { type: 'string' }, inner: { type: 'array', items: { $ref: '#/$defs/self' } } },
    };
    expect(encodeParameters(folder)).toEqual({ ...named, $defs: { self: named } });
    const byPath = {
      type: 'object',
      properties: { top: { type: 'object', properties: { next: { $ref: '#/properties/top' } } } },
    };
    const top = { type: 'object', properties: { next: { $ref: '#/$defs/top' } } };
    expect(encodeParameters(byPath)).toEqual({
      type: 'object',
      properties: { top: { type: 'object', properties: { next: top } } },
      $defs: { top },
    });
  });

  it('leaves no keyword next to a reference in definitions either', () => {
    const $defs = {
      'a/node': { $ref: '#/$defs/node' },
      node: {
        type: 'object',
        properties: { next: { $ref: '#/$defs/node', description: 'The next.' }, all: { $ref: '#' } },
      },
    };
    const node = {
      type: 'object',
      properties: { next: { $ref: '#/$defs/node' }, all: { $ref: '#/$defs/self' } },
    };
    expect(
      encodeParameters({ $defs, type: 'object', properties: { root: { $ref: '#/$defs/a~1node' } } }),
    ).toMatchObject({
      properties: { root: node },
      $defs: { node, self: { type: 'object', properties: { root: expect.anything() } } },
    });
  });

  it('keeps references that would grow the schema without limit', () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => [
        `d${index}`,
        {
          type: 'object',
          properties: { a: { $ref: `#/$defs/d${index + 1}` }, b: { $ref: `#/$defs/d${index + 1}` } },
        },
      ]),
    );
    const { body } = encode({
      tools: [
        {
          type: 'function',
          name: 'f',
          schema: { $defs: { ...$defs, d40: {} }, type: 'object', properties: { x: { $ref: '#/$defs/d0' } } },
        },
      ],
    });
    expect(JSON.stringify(body).length).toBeLessThan(2_000_000);
  });

  it('keeps long chains of references as definitions', () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 5000 }, (_, index) => [
        `d${index}`,
        { properties: { next: { $ref: `#/$defs/d${index + 1}` } } },
      ]),
    );
    const json = JSON.stringify(
      encodeParameters({
        $defs: { ...$defs, d5000: { enum: ['the end'] } },
        properties: { first: { $ref: '#/$defs/d0' } },
      }),
    );
    expect(json.split('the end').length).toBe(2);
    const references = new Set(json.match(/(?<=#\/\$defs\/)\w+/g));
    expect(references.size).toBeGreaterThan(50);
    expect([...references].filter((name) => !json.includes(`"${name}":`))).toEqual([]);
  });
});
