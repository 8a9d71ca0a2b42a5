/** The demo model's pictures: a sun over bands of colour, all of which follow from the prompt, as a real PNG of the size that was asked for. */
import { createHash } from 'node:crypto';
import { encode } from 'fast-png';

export interface Sketch {
  readonly width: number;
  readonly height: number;
  /** What decides the colours. */
  readonly subject: string;
  readonly transparent: boolean;
  /** From 0 to 1: how much of the picture is there already. */
  readonly progress: number;
}

type Colour = readonly [red: number, green: number, blue: number];

const bands = 24;

function coloursOf(subject: string): readonly [top: Colour, bottom: Colour, sun: Colour] {
  const hash = createHash('sha256').update(subject).digest();
  const colour = (at: number): Colour => [hash[at] ?? 0, hash[at + 1] ?? 0, hash[at + 2] ?? 0];
  return [colour(0), colour(3), colour(6)];
}

function between([r1, g1, b1]: Colour, [r2, g2, b2]: Colour, share: number): Colour {
  const mixed = (from: number, to: number): number => Math.round(from + (to - from) * share);
  return [mixed(r1, r2), mixed(g1, g2), mixed(b1, b2)];
}

export function paint({ width, height, subject, transparent, progress }: Sketch): Uint8Array {
  const [top, bottom, sun] = coloursOf(subject);
  const channels = transparent ? 4 : 3;
  const data = new Uint8Array(width * height * channels);
  const radius = Math.min(width, height) / 4;
  const dry = Math.ceil(height * progress);
  for (let y = 0; y < dry; y += 1) {
    const band = between(top, bottom, Math.floor((y / height) * bands) / bands);
    const half = Math.sqrt(Math.max(0, radius ** 2 - (y - height / 2) ** 2));
    for (let x = 0; x < width; x += 1) {
      const isSun = Math.abs(x - width / 2) < half;
      const at = (y * width + x) * channels;
      const [red, green, blue] = isSun ? sun : band;
      data[at] = red;
      data[at + 1] = green;
      data[at + 2] = blue;
      if (transparent) data[at + 3] = isSun ? 255 : 0;
    }
  }
  return encode({ width, height, data, channels, depth: 8 }, { zlib: { level: 1 } });
}
