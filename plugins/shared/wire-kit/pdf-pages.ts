/** Counts the pages of a PDF: providers read each as a picture, however few bytes it has. */
import { inflateSync } from 'node:zlib';

/** Streams of objects, and bytes in them, to unpack for a request. A thousand pages have a million bytes. */
const mostStreams = 500;
const mostUnpacked = 2 ** 23;

const page = /\/Type\s*\/Page(?![a-z])/gi;

function countMatches(text: string): number {
  return text.match(page)?.length ?? 0;
}

/** Where each compressed stream of objects begins. Most programs keep their pages in such streams. */
function* findObjectStreams(text: string): Generator<number> {
  const begin = 'stream';
  for (let at = text.indexOf('/ObjStm'); at >= 0; at = text.indexOf('/ObjStm', at)) {
    at = text.indexOf(begin, at);
    if (at < 0) return;
    at += begin.length + (text.startsWith('\r\n', at + begin.length) ? 2 : 1);
    yield at;
  }
}

/** Counts the pages of all PDFs of one request, which together may unpack no more than the limits. */
export class PageCounter {
  #streams = mostStreams;
  #unpacked = mostUnpacked;

  /** Returns undefined if the pages cannot be found, for example in an encrypted file. */
  count(pdf: Buffer): number | undefined {
    // One character is one byte.
    const text = pdf.toString('latin1');
    let count = countMatches(text);
    try {
      for (const start of findObjectStreams(text)) {
        if (this.#streams === 0) return undefined;
        this.#streams -= 1;
        const objects = inflateSync(pdf.subarray(start), { maxOutputLength: this.#unpacked });
        this.#unpacked -= objects.length;
        count += countMatches(objects.toString('latin1'));
      }
    } catch {
      return undefined;
    }
    return count || undefined;
  }
}
