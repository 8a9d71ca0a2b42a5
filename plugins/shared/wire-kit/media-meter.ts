/** Adds up the media of a request's body. Base64 counts as media, and not as text. */
import type { InputSize } from '../../../core/index.ts';
import { detectDocumentType } from './media.ts';
import { PageCounter } from './pdf-pages.ts';

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
