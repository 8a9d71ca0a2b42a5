/** Adds up the media of a request's body. Base64 counts as media, and not as text. */
import type { InputSize } from '../../../core/index.ts';

export class MediaMeter {
  #images = 0;
  #mediaBytes = 0;
  #base64 = 0;
  /** Whether the provider reads something whose size the body does not show. */
  fetched = false;

  addImage(base64Length: number): void {
    this.#images += 1;
    this.#base64 += base64Length;
  }

  addFile(base64Length: number): void {
    this.#mediaBytes += Math.floor((base64Length * 3) / 4);
    this.#base64 += base64Length;
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
      fetched: this.fetched || undefined,
    };
  }
}
