/** Moderations: texts and pictures in, the vendor's categories out. */
import { defineFamily } from '../../shared/family/define-family.ts';
import { listTexts, wire, type ModerationAsk, type Verdicts } from './wire.ts';

const wordsByCategory = {
  harassment: /\b(?:idiot|loser|stupid)\b/i,
  'self-harm': /\bsuicide\b/i,
  violence: /\b(?:attack|kill|murder)\b/i,
};

function judgeText(text: string): Verdicts[number] {
  const found = Object.entries(wordsByCategory).map(([name, words]) => [name, words.test(text)] as const);
  return {
    flagged: found.some(([, isFlagged]) => isFlagged),
    categories: Object.fromEntries(found),
    category_scores: Object.fromEntries(found.map(([name, isFlagged]) => [name, isFlagged ? 1 : 0])),
  };
}

export const moderations = defineFamily<ModerationAsk, Verdicts>({
  name: 'moderations',
  makes: 'categories',
  path: '/v1/moderations',
  wires: [wire],
  join: (answers) => answers.flat(),
  demo: {
    wire: wire.name,
    model: {
      id: 'demo/guard',
      upstream: 'guard',
      name: 'Demo Guard',
      description: 'Flags texts offline by a few words, for nothing.',
      free: true,
    },
    answer(ask) {
      const texts = listTexts(ask);
      const input = Math.ceil(Buffer.byteLength(texts.join('')) / 4);
      return { answer: texts.map(judgeText), usage: { input, output: 0 } };
    },
  },
});
