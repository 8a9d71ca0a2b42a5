/** Rerank: a query and documents in, a score for each document out. */
import { defineFamily } from '../../shared/family/define-family.ts';
import { joinResults, toSearches, type RerankAsk, type Result } from './ask.ts';
import { wireName, wires } from './wires.ts';

/** What is read of a text, so that thousands of them are quickly read. */
const mostCharacters = 500;

function listWords(text: string): Set<string> {
  return new Set(
    text
      .slice(0, mostCharacters)
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu),
  );
}

/** The share of the query's words that a text has. */
function computeShare(words: ReadonlySet<string>, text: string): number {
  return words.intersection(listWords(text)).size / Math.max(1, words.size);
}

export const rerank = defineFamily<RerankAsk, readonly Result[]>({
  name: 'rerank',
  makes: 'scores',
  path: '/v1/rerank',
  wires,
  join: joinResults,
  demo: {
    wire: wireName,
    model: {
      id: 'demo/rank',
      upstream: 'rank',
      name: 'Demo Rank',
      description:
        'Scores documents offline by the words they share with the query, at a small price that is real.',
      price: { input: '0', output: '0', search: '0.001' },
    },
    answer(ask) {
      const { query, texts } = ask;
      const words = listWords(query);
      const scored = texts.map((text, index) => ({ index, score: computeShare(words, text) }));
      // It goes on as it is: the best come first, and no more than are asked for.
      return {
        answer: joinResults([scored], ask),
        usage: { input: 0, output: 0, search: toSearches(texts.length) },
      };
    },
  },
});
