/** What a PDF of few bytes and many pages adds to the bound of a call's input. */
import { deflateSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { MediaMeter } from '../../plugins/shared/wire-kit/media-meter.ts';

const page = '<</Type/Page/Parent 2 0 R>>';
const tree = '<</Type /Pages /Count 3>>';

function buildPdf(...parts: (string | Buffer)[]): string {
  return Buffer.concat(['%PDF-1.7\n', ...parts].map((part) => Buffer.from(part))).toString('base64');
}

function pack(objects: string): (string | Buffer)[] {
  return ['<</Type/ObjStm/N 3>>\r\nstream\r\n', deflateSync(objects), '\r\nendstream\n'];
}

function measure(...files: readonly string[]): {
  readonly pages?: number | undefined;
  readonly fetched?: boolean | undefined;
} {
  const meter = new MediaMeter();
  for (const base64 of files) meter.addFile(base64);
  return meter.measure(files.join(''));
}

it.each([
  ['that are written plainly', buildPdf(tree, page, page, '<</Type /Page>>'), 3],
  ['in compressed streams', buildPdf(...pack(tree + page + page), page, ...pack(page)), 4],
])('the pages of a document %s are counted', (_, pdf, pages) => {
  expect(measure(pdf)).toMatchObject({ pages, fetched: undefined });
});

it.each([
  ['that are encrypted', buildPdf('<</Type/ObjStm>>stream\n', Buffer.alloc(40, 7), 'endstream')],
  ['that unpack to more than is read', buildPdf(...pack(' '.repeat(2 ** 23 + 1)))],
  ['in more streams than are read', buildPdf(...Array.from({ length: 501 }, () => pack(page)).flat())],
  ['whose stream never begins', buildPdf('<</Type/ObjStm/N 3>>')],
])('the pages of a document %s may fill the context', (_, pdf) => {
  expect(measure(pdf)).toMatchObject({ pages: undefined, fetched: true });
});

it('the pages of a document of several documents may together unpack no more than those of one', () => {
  const half = buildPdf(page, ...pack(' '.repeat(2 ** 22)));
  expect(measure(half, half)).toMatchObject({ pages: 2, fetched: undefined });
  expect(measure(half, half, half)).toMatchObject({ fetched: true });
});

it('the pages of a document are not counted in what is no PDF, and in one whose bytes count as more', () => {
  const large = buildPdf(page, Buffer.alloc(2 ** 21));
  for (const data of [Buffer.from(page).toString('base64'), large])
    expect(measure(data)).toMatchObject({ pages: undefined, fetched: undefined });
});
