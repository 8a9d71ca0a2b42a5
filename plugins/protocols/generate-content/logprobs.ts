/**
 * Log probabilities. This wire has two parallel lists, of chosen tokens and of alternatives. The canonical
 * form has one list of tokens, each with its alternatives.
 */
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

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
  const alternatives = list(result.topCandidates);
  return list(result.chosenCandidates).map((chosen, index) => {
    const step = alternatives[index];
    return {
      ...decodeToken(chosen),
      top_logprobs: list(isObject(step) ? step.candidates : undefined).map(decodeToken),
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
      candidates: list(isObject(each) ? each.top_logprobs : undefined).map(encodeToken),
    })),
  };
}
