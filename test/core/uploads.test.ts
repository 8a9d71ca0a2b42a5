/** The parser reads a form correctly whatever chunks the network makes of it. */
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { readUpload } from '../../core/http/uploads.ts';

/** What Koa knows of a request whose body arrives in these chunks. */
function buildArrival(boundary: string, pieces: readonly Uint8Array[]): Parameters<typeof readUpload>[0] {
  const headers = {
    'content-type': `multipart/form-data; boundary="${boundary}"`,
    'transfer-encoding': 'chunked',
  };
  const type = (): string => 'multipart/form-data';
  return Object.assign(Object.create(null), {
    req: Object.assign(Readable.from(pieces), { headers }),
    request: {},
    method: 'POST',
    is: type,
  });
}

interface Part {
  readonly name: string;
  readonly isFile: boolean;
  readonly body: string;
}

function writeForm(boundary: string, parts: readonly Part[], around: string): Buffer {
  const all = parts.map(
    ({ name, isFile, body }) =>
      `--${boundary}\r\ncontent-disposition: form-data; name="${name}"` +
      `${isFile ? '; filename="a.png"' : ''}\r\n\r\n${body}\r\n`,
  );
  return Buffer.from(`${around}\r\n${all.join('')}--${boundary}--\r\n${around}`);
}

/**
 * Boundaries of one character and of the maximum length, of pattern characters, and of delimiter characters.
 */
const boundaries = fc.string({ unit: fc.constantFrom(...'ab-.*+?()/:='), minLength: 1, maxLength: 70 });
/** Bodies that repeat what looks like the start of a delimiter, without any complete one. */
const generateBodies = (boundary: string): fc.Arbitrary<string> =>
  fc
    .array(fc.constantFrom('\r\n--', '\r\n', '\r', '\n', '--', boundary.slice(0, -1), 'ä', 'x'), {
      maxLength: 12,
    })
    .map((pieces) => pieces.join(''))
    .filter((body) => !`\r\n${body}\r\n`.includes(`--${boundary}`));
const forms = boundaries.chain((boundary) =>
  fc.record({
    boundary: fc.constant(boundary),
    parts: fc.array(
      fc.record({
        name: fc.constantFrom('prompt', 'image', 'n'),
        isFile: fc.boolean(),
        body: generateBodies(boundary),
      }),
      { minLength: 1, maxLength: 4 },
    ),
    around: generateBodies(boundary),
    cuts: fc.array(fc.nat(), { maxLength: 8 }),
  }),
);

it('the parser reads an upload the same however it is cut, with any parts and any boundary', async () => {
  await fc.assert(
    fc.asyncProperty(forms, async ({ boundary, parts, around, cuts }) => {
      const bytes = writeForm(boundary, parts, around);
      const places = [0, ...cuts.map((cut) => cut % bytes.length), bytes.length].toSorted(
        (one, other) => one - other,
      );
      const pieces = places
        .slice(1)
        .map((end, index) => bytes.subarray(places[index], end))
        .filter(({ length }) => length > 0);
      const { fields, files } = await readUpload(buildArrival(boundary, pieces), 1_000_000);
      const texts = parts.filter(({ isFile }) => !isFile).map(({ name, body }) => [name, body]);
      expect(fields).toEqual(texts);
      expect(files.map((file) => [file.name, Buffer.from(file.bytes).toString()])).toEqual(
        parts.filter(({ isFile }) => isFile).map(({ name, body }) => [name, body]),
      );
    }),
    { numRuns: 150 },
  );
});
