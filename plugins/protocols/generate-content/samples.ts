/**
 * Joins audio that a stream brings in pieces, each in base64 of its own. Canonical pieces are one base64 text
 * cut anywhere, so bytes that do not fill a group of three wait for the next piece.
 */

/** True for raw samples, whose pieces can be joined. Files with a header cannot. */
export function isSamples(mediaType: string): boolean {
  return /^audio\/(l16|pcm)\b/i.test(mediaType);
}

export class Samples {
  #rest = Buffer.alloc(0);

  /** Takes a piece in base64 and returns the base64 that is ready. */
  add(data: string): string {
    const bytes = Buffer.concat([this.#rest, Buffer.from(data, 'base64')]);
    const whole = bytes.length - (bytes.length % 3);
    this.#rest = bytes.subarray(whole);
    return bytes.toString('base64', 0, whole);
  }

  end(): string {
    const rest = this.#rest.toString('base64');
    this.#rest = Buffer.alloc(0);
    return rest;
  }
}
