/** Adds up the media of a request's body. Base64 counts as media, and not as text. */
import { inflateSync } from 'node:zlib';
import type { InputSize } from '../../../core/index.ts';
import { detectDocumentType } from './media.ts';

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

/** Base64 characters of a PDF whose bytes alone count as more tokens than most models read. */
const largeLength = 2 ** 21;

export class MediaMeter {
  #images = 0;
  #mediaBytes = 0;
  #base64 = 0;
  #pages = 0;
  /** Created with the first PDF. */
  #counter: PageCounter | undefined;
  /** Whether the provider reads something whose size the body does not show. */
  fetched = false;

  addImage(base64Length: number): void {
    this.#images += 1;
    this.#base64 += base64Length;
  }

  addFile(base64: string): void {
    const { length } = base64;
    this.#mediaBytes += Math.floor((length * 3) / 4);
    this.#base64 += length;
    // If the length is unknown anyway, pages add nothing.
    if (this.fetched || length > largeLength || detectDocumentType(base64) !== 'application/pdf') return;
    const pages = (this.#counter ??= new PageCounter()).count(Buffer.from(base64, 'base64'));
    if (pages === undefined) this.fetched = true;
    else this.#pages += pages;
  }

  /** Adds media that the provider keeps. */
  addStored(bytes: number): void {
    this.#mediaBytes += bytes;
  }

  /** The size of the whole body. */
  measure(text: string): InputSize {
    return {
      textBytes: Buffer.byteLength(text) - this.#base64,
      images: this.#images,
      mediaBytes: this.#mediaBytes,
      pages: this.#pages || undefined,
      fetched: this.fetched || undefined,
    };
  }
}
