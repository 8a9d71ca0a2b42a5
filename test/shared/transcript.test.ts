/** The text of a reply so far, in pieces. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Transcript } from '../../plugins/shared/wire-kit/transcript.ts';

function createTranscript(pieces: readonly string[], limit?: number): Transcript {
  const transcript = new Transcript(limit);
  for (const piece of pieces) transcript.add(piece);
  return transcript;
}

it('a transcript is the text of the reply, however it was cut', () => {
  fc.assert(
    fc.property(fc.array(fc.string(), { maxLength: 3000 }), (pieces) => {
      const transcript = createTranscript(pieces);
      expect([transcript.text, transcript.length, transcript.whole]).toEqual([
        pieces.join(''),
        pieces.join('').length,
        true,
      ]);
    }),
    { numRuns: 30 },
  );
});

it('a transcript keeps the start of a text that is longer than its limit, and counts the rest', () => {
  const transcript = createTranscript(
    Array.from({ length: 5000 }, () => 'word '),
    100,
  );
  expect(transcript.length).toBe(25_000);
  expect(transcript.whole).toBe(false);
  expect(transcript.text).toBe('word '.repeat(20));
});

it('a transcript can be read while it grows', () => {
  const transcript = createTranscript(['one ']);
  expect(transcript.text).toBe('one ');
  transcript.add('two');
  expect(transcript.text).toBe('one two');
});
