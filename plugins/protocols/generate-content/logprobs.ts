/**
 * Converts log probabilities, in both directions. This protocol has two parallel lists, of chosen tokens and
 * of alternatives. The canonical form has one list of tokens, each with its alternatives.
 */
import { readList, readMember, readObject, readText } from '../../shared/wire-kit/values.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';

function decodeToken(candidate: unknown): Fields {
  const { token, logProbability } = readObject(candidate);
  const text = readText(token);
  return {
    token: text,
    logprob: typeof logProbability === 'number' ? logProbability : 0,
    bytes: [...Buffer.from(text)],
  };
}

export function decodeLogprobs(result: Fields): Fields[] {
  const alternatives = readList(result.topCandidates);
  return readList(result.chosenCandidates).map((chosen, index) => ({
    ...decodeToken(chosen),
    top_logprobs: readList(readMember(alternatives[index], 'candidates')).map(decodeToken),
  }));
}

function encodeToken(value: unknown): Fields {
  const { token, logprob } = readObject(value);
  return { token, logProbability: logprob };
}

export function encodeLogprobs(content: readonly unknown[]): Fields {
  return {
    chosenCandidates: content.map(encodeToken),
    topCandidates: content.map((each) => ({
      candidates: readList(readMember(each, 'top_logprobs')).map(encodeToken),
    })),
  };
}
