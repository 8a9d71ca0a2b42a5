/**
 * Log probabilities. This wire has two parallel lists, of chosen tokens and of alternatives. The canonical
 * form has one list of tokens, each with its alternatives.
 */
import { readList } from '../../shared/wire-kit/values.ts';
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';

function decodeToken(candidate: unknown): Fields {
  const { token, logProbability } = isObject(candidate) ? candidate : {};
  const text = typeof token === 'string' ? token : '';
  return {
    token: text,
    logprob: typeof logProbability === 'number' ? logProbability : 0,
    bytes: [...Buffer.from(text)],
  };
}

export function decodeLogprobs(result: Fields): Fields[] {
  const alternatives = readList(result.topCandidates);
  return readList(result.chosenCandidates).map((chosen, index) => {
    const step = alternatives[index];
    return {
      ...decodeToken(chosen),
      top_logprobs: readList(isObject(step) ? step.candidates : undefined).map(decodeToken),
    };
  });
}

function encodeToken(value: unknown): Fields {
  const { token, logprob } = isObject(value) ? value : {};
  return { token, logProbability: logprob };
}

export function encodeLogprobs(content: readonly unknown[]): Fields {
  return {
    chosenCandidates: content.map(encodeToken),
    topCandidates: content.map((each) => ({
      candidates: readList(isObject(each) ? each.top_logprobs : undefined).map(encodeToken),
    })),
  };
}
