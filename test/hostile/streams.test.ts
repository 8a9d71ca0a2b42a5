/**
 * Random changes to what providers, operators and files hand the gateway: streams with bytes flipped,
 * doubled, removed and moved, prices and configurations of any shape. The only results are a broken reply, or
 * an error that says what is wrong.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkConfig } from '../../core/config.ts';
import { isGatewayError } from '../../core/index.ts';
import { priceSchema } from '../../core/price.ts';
import { ConfigError } from '../../core/util/errors.ts';
import { parseUsd } from '../../core/util/money.ts';
import { decodeAll, fold, readStream } from '../contract/replies.ts';
import { least } from '../matrix/spelling.ts';
import { character } from '../support/arbitrary.ts';
import { families, readCall, wires } from '../support/families.ts';
import { listGolden, readGolden } from '../support/golden.ts';

const runs = Number(process.env.MUTATIONS ?? 1500);

/**
 * A change at a fraction of the length: removes, doubles or flips so many bytes, or inserts others before
 * them.
 */
const change = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  length: fc.nat(200),
  how: fc.constantFrom('cut', 'double', 'turn', 'put'),
  put: fc.oneof(
    fc.constantFrom(
      '\n\n',
      '\r',
      ':',
      'data: ',
      'data: null\n\n',
      'data: []\n\n',
      'data: {}\n\n',
      'data: 1\n\n',
      'data: {"error":null}\n\n',
      'event: error\ndata: {}\n\n',
      '"',
      '{',
      '}',
      'null',
      '-1',
      '1e999',
      '[[[[',
      '\0',
      '\u2028',
      '"__proto__":{"a":1},',
      'data: [DONE]\n\n',
    ),
    fc.string({ unit: character, maxLength: 20 }),
  ),
});

function applyChange(
  bytes: Buffer,
  { at, length, how, put }: { at: number; length: number; how: string; put: string },
): Buffer {
  const place = Math.floor(at * bytes.length);
  const [before, middle, after] = [
    bytes.subarray(0, place),
    bytes.subarray(place, place + length),
    bytes.subarray(place + length),
  ];
  if (how === 'cut') return Buffer.concat([before, after]);
  if (how === 'double') return Buffer.concat([before, middle, middle, after]);
  if (how === 'turn') return Buffer.concat([before, middle.map((byte) => byte ^ (length % 255)), after]);
  return Buffer.concat([before, Buffer.from(put), middle, after]);
}

describe.each(wires)('a stream of %s', (wire) => {
  const streams = listGolden(wire, 'reply.sse').map((name) =>
    Buffer.from(readGolden(wire, name, 'reply.sse')),
  );

  it('changed anywhere is read, or refused with an expected error', () => {
    const call = readCall(wire, { model: 'a/b', ...least[wire] }, true);
    let broken = 0;
    fc.assert(
      fc.property(
        fc.constantFrom(...streams),
        fc.array(change, { minLength: 1, maxLength: 4 }),
        (stream, changes) => {
          try {
            const { complete, error } = fold(
              decodeAll(
                families[wire].protocol.upstream.decodeEvents(call),
                readStream(changes.reduce(applyChange, stream)),
              ),
            );
            if (!complete || error !== undefined) broken += 1;
          } catch (thrown) {
            if (!isGatewayError(thrown)) throw thrown;
            broken += 1;
          }
        },
      ),
      { numRuns: runs },
    );
    expect(streams.length).toBeGreaterThan(5);
    expect(broken).toBeGreaterThan(100);
    expect({}).not.toHaveProperty('a');
  });
});

it('a price is read, or refused with an error that names its fault', () => {
  const amount = fc.oneof(
    fc.string(),
    fc.stringMatching(/^-?\d{0,20}[.,]?\d{0,12}$/),
    fc.constantFrom('1e5', '0x10', ' 1', '+1', '9'.repeat(400), '0.0000000001', 'Infinity'),
  );
  fc.assert(
    fc.property(amount, (text) => {
      try {
        expect(typeof parseUsd(text)).toBe('bigint');
      } catch (error) {
        expect(String(error)).toMatch(/not an amount in USD/);
      }
    }),
  );
  fc.assert(fc.property(fc.anything(), (value) => !priceSchema.safeParse(value).success));
});

it('a configuration of any shape is refused with an error that names its fault', () => {
  const names = fc.constantFrom(
    'server',
    'plugins',
    'timeouts',
    'loss',
    'dataFolder',
    'port',
    'idle',
    '__proto__',
    'toString',
  );
  const shape = fc.oneof(
    fc.anything(),
    fc.dictionary(names, fc.oneof(fc.anything(), fc.dictionary(names, fc.anything()))),
    fc.record({ plugins: fc.array(fc.anything({ maxDepth: 2 }), { maxLength: 3 }) }),
  );
  fc.assert(
    fc.property(shape, (input) => {
      try {
        checkConfig(input, 'my.config.ts');
      } catch (error) {
        expect(error).toBeInstanceOf(ConfigError);
        expect(String(error)).toContain('my.config.ts: ');
      }
    }),
    { numRuns: 500 },
  );
});
