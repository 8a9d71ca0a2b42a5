/**
 * The demo model's pictures: a sun over bands of colour, all derived from the prompt, as a real PNG of the
 * size that was asked for.
 */
import { createHash } from 'node:crypto';
import { encode } from 'fast-png';

interface Sketch {
  readonly width: number;
  readonly height: number;
  /** The text that the colours are derived from. */
  readonly subject: string;
  readonly transparent: boolean;
  /** From 0 to 1: how much of the picture is painted already. */
  readonly progress: number;
}

type Colour = readonly [red: number, green: number, blue: number];

const bands = 24;

function deriveColours(subject: string): readonly [top: Colour, bottom: Colour, sun: Colour] {
  const hash = createHash('sha256').update(subject).digest();
  const pickColour = (at: number): Colour => [hash[at] ?? 0, hash[at + 1] ?? 0, hash[at + 2] ?? 0];
  return [pickColour(0), pickColour(3), pickColour(6)];
}

function mixColours([r1, g1, b1]: Colour, [r2, g2, b2]: Colour, share: number): Colour {
  const mix = (from: number, to: number): number => Math.round(from + (to - from) * share);
  return [mix(r1, r2), mix(g1, g2), mix(b1, b2)];
}

/**
 * Each pixel is the index of its colour: nothing yet, a band, or the sun. A picture in full colours would
 * block the event loop for too long.
 */
export function paint({ width, height, subject, transparent, progress }: Sketch): Uint8Array {
  const [top, bottom, sun] = deriveColours(subject);
  const sky = Array.from({ length: bands }, (_, band) => mixColours(top, bottom, band / bands));
  const data = new Uint8Array(width * height);
  const radius = Math.min(width, height) / 4;
  const dry = Math.ceil(height * progress);
  for (let y = 0; y < dry; y += 1) {
    const line = data.subarray(y * width, (y + 1) * width).fill(1 + Math.floor((y / height) * bands));
    const half = Math.sqrt(Math.max(0, radius ** 2 - (y - height / 2) ** 2));
    line.fill(1 + bands, Math.ceil(width / 2 - half), Math.ceil(width / 2 + half));
  }
  const colours: Colour[] = [[0, 0, 0], ...sky, sun];
  const palette = colours.map((colour) =>
    transparent ? [...colour, colour === sun ? 255 : 0] : [...colour],
  );
  return encode({ width, height, data, channels: 1, depth: 8, palette }, { zlib: { level: 1 } });
}
