/** Log probabilities: two lists side by side in this wire, one list of tokens with their rivals in the canonical form. */
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function entry(candidate: unknown): Fields {
  const { token, logProbability } = isObject(candidate) ? candidate : {};
  const text = typeof token === 'string' ? token : '';
  return {
    token: text,
    logprob: typeof logProbability === 'number' ? logProbability : 0,
    bytes: [...Buffer.from(text)],
  };
}

export function decodeLogprobs(result: Fields): Fields[] {
  const rivals = list(result.topCandidates);
  return list(result.chosenCandidates).map((chosen, index) => {
    const step = rivals[index];
    return { ...entry(chosen), top_logprobs: list(isObject(step) ? step.candidates : undefined).map(entry) };
  });
}

function candidate(value: unknown): Fields {
  const { token, logprob } = isObject(value) ? value : {};
  return { token, logProbability: logprob };
}

export function encodeLogprobs(content: readonly unknown[]): Fields {
  return {
    chosenCandidates: content.map(candidate),
    topCandidates: content.map((each) => ({
      candidates: list(isObject(each) ? each.top_logprobs : undefined).map(candidate),
    })),
  };
}
