/** Rates of a price for properties: those of input and output, and any of the others. */
import fc from 'fast-check';

export function buildRates<Rate>(rate: fc.Arbitrary<Rate>) {
  return fc.record(
    {
      input: rate,
      output: rate,
      cacheRead: rate,
      cacheReadAudio: rate,
      cacheWrite5m: rate,
      cacheWrite30m: rate,
      cacheWrite1h: rate,
      cacheWrite12h: rate,
      reasoning: rate,
      inputAudio: rate,
      outputAudio: rate,
      inputImage: rate,
      outputImage: rate,
    },
    { requiredKeys: ['input', 'output'] },
  );
}
