/** What each of the mixed calls uses, and what that costs by an independent calculation. */
import { Decimal } from 'decimal.js';

/** USD for a million tokens, and separate fees. */
interface Rates {
  readonly input: string;
  readonly output: string;
  readonly cacheRead?: string;
  readonly cacheWrite5m?: string;
  readonly cacheWrite1h?: string;
  readonly reasoning?: string;
  readonly inputAudio?: string;
  readonly outputAudio?: string;
  readonly inputImage?: string;
  readonly outputImage?: string;
}

interface Shape extends Rates {
  readonly image?: string;
  readonly request?: string;
  readonly webSearch?: string;
  readonly tiers?: readonly (Rates & { readonly above: number })[];
}

export const shapes: Readonly<Record<string, Shape>> = {
  plain: { input: '0.15', output: '0.6' },
  fractions: { input: '0.0375', output: '0.000000001' },
  cached: { input: '2.5', output: '10', cacheRead: '1.25' },
  written: { input: '3', output: '15', cacheRead: '0.3', cacheWrite5m: '3.75', cacheWrite1h: '6' },
  reasoned: { input: '1.1', output: '4.4', cacheRead: '0.275', reasoning: '3.333333333' },
  spoken: { input: '2.5', output: '10', inputAudio: '40', outputAudio: '80', cacheRead: '1.25' },
  searched: { input: '1', output: '5', request: '0.0005', webSearch: '0.01' },
  tiered: {
    input: '1.25',
    output: '10',
    cacheRead: '0.31',
    tiers: [
      { above: 1000, input: '2.5', output: '15', cacheRead: '0.625' },
      { above: 2500, input: '5', output: '20' },
    ],
  },
};

/** What image models cost: by tokens, or by image. */
export const paintings: Readonly<Record<string, Shape>> = {
  painted: { input: '5', output: '10', cacheRead: '1.25', inputImage: '8', outputImage: '32' },
  apiece: { input: '0', output: '0', image: '0.0417' },
};

/** Usage as two providers' wires report it: all input with its cached part inside, or beside it. */
export interface Figures {
  readonly fresh: number;
  readonly cached: number;
  readonly written5m: number;
  readonly written1h: number;
  readonly audioIn: number;
  readonly output: number;
  readonly reasoning: number;
  readonly audioOut: number;
  readonly searches: number;
  readonly imageIn: number;
  readonly imageOut: number;
  readonly pictures: number;
}

export function sumInput({ fresh, cached, written5m, written1h, audioIn, imageIn }: Figures): number {
  return fresh + cached + written5m + written1h + audioIn + imageIn;
}

/**
 * The cost kind by kind, where a kind without a rate has the rate of the whole; rounded once, half to even.
 */
export function computeCost(figures: Figures, shape: Shape): bigint {
  const tier = (shape.tiers ?? []).filter(({ above }) => sumInput(figures) > above).at(-1);
  const rates: Rates = tier ?? shape;
  const priceTokens = (count: number, rate: string): Decimal =>
    new Decimal(count).times(rate).dividedBy(1_000_000);
  const {
    fresh,
    cached,
    written5m,
    written1h,
    audioIn,
    output,
    reasoning,
    audioOut,
    searches,
    imageIn,
    imageOut,
    pictures,
  } = figures;
  const sum = Decimal.sum(
    priceTokens(fresh, rates.input),
    priceTokens(cached, rates.cacheRead ?? rates.input),
    priceTokens(written5m, rates.cacheWrite5m ?? rates.input),
    priceTokens(written1h, rates.cacheWrite1h ?? rates.input),
    priceTokens(audioIn, rates.inputAudio ?? rates.input),
    priceTokens(imageIn, rates.inputImage ?? rates.input),
    priceTokens(output - reasoning - audioOut - imageOut, rates.output),
    priceTokens(imageOut, rates.outputImage ?? rates.output),
    priceTokens(reasoning, rates.reasoning ?? rates.output),
    priceTokens(audioOut, rates.outputAudio ?? rates.output),
    shape.request ?? '0',
    new Decimal(shape.webSearch ?? '0').times(searches),
    new Decimal(shape.image ?? '0').times(pictures),
  );
  return BigInt(sum.times(1_000_000_000).toDecimalPlaces(0, Decimal.ROUND_HALF_EVEN).toFixed(0));
}

/** The wire of messages has no audio, and that of chat-completions no cache writes. */
export function drawFigures(wire: string, draw: (most: number) => number): Figures {
  if (wire === 'images') {
    const [pictures, imageOut] = [1 + draw(3), 1 + draw(1000)];
    return {
      fresh: 1 + draw(500),
      cached: draw(50),
      imageIn: draw(300),
      imageOut,
      output: imageOut + draw(20),
      pictures,
      written5m: 0,
      written1h: 0,
      audioIn: 0,
      reasoning: 0,
      audioOut: 0,
      searches: 0,
    };
  }
  const isMessages = wire === 'messages';
  const [reasoning, audioOut] = [isMessages ? 0 : draw(300), isMessages ? 0 : draw(50)];
  return {
    fresh: 1 + draw(1500),
    cached: draw(2) ? draw(1500) : 0,
    written5m: isMessages ? draw(400) : 0,
    written1h: isMessages ? draw(400) : 0,
    audioIn: isMessages ? 0 : draw(100),
    output: 1 + draw(600) + reasoning + audioOut,
    reasoning,
    audioOut,
    searches: isMessages ? draw(3) : 0,
    imageIn: 0,
    imageOut: 0,
    pictures: 0,
  };
}
