/** The parser reads a form correctly wherever its slices end, and refuses long heads of parts. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Form, readForm, requireBytes } from '../../plugins/shared/forms.ts';

const read = (boundary: string, body: Buffer): Promise<Form> =>
  readForm(body, `multipart/form-data; boundary="${boundary}"`);

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
    lead: fc.integer({ min: 65_000, max: 65_540 }),
  }),
);

it('the parser reads an upload with any parts and any boundary, wherever a slice of it ends', async () => {
  await fc.assert(
    fc.asyncProperty(forms, async ({ boundary, parts, around, lead }) => {
      const first: Part = { name: 'mask', isFile: true, body: ' '.repeat(lead) };
      const all = [first, ...parts];
      const { fields, files } = await read(boundary, writeForm(boundary, all, around));
      const texts = parts.filter(({ isFile }) => !isFile).map(({ name, body }) => [name, body]);
      expect(fields).toEqual(texts);
      expect(files.map((file) => [file.name, Buffer.from(requireBytes(file)).toString()])).toEqual(
        all.filter(({ isFile }) => isFile).map(({ name, body }) => [name, body]),
      );
    }),
    { numRuns: 150 },
  );
});

const part = (head: number, body: number): string =>
  '--here\r\ncontent-disposition: form-data; name="a"\r\n' +
  `x: ${'h'.repeat(head)}\r\n\r\n${'b\r\n--her'.repeat(body)}\r\n`;
const end = '--here--\r\n';

describe('heads of parts', () => {
  it('a form is read however long its parts are', async () => {
    const form = `${part(4000, 800)}${part(0, 800)}${part(4000, 0)}${end}behind it`;
    expect((await read('here', Buffer.from(form))).fields).toHaveLength(3);
  });

  it.each([
    ['in its first part', part(4200, 1)],
    ['in a later one', `${part(10, 900)}${part(4200, 1)}`],
    ['without end', `${part(10, 1)}--here\r\n${'h'.repeat(5000)}`],
  ])('a form with a long part head %s is refused', async (_, form) => {
    await expect(read('here', Buffer.from(form + end))).rejects.toThrow(/a head of more than 4096 bytes/);
  });
});
