/** Counts the input tokens of a request. The count request wraps a complete call. */
import type { CountSide } from '../../../core/index.ts';
import { readObject, readTokens } from '../../shared/wire-kit/values.ts';
import { encodeRequest } from './encode-request.ts';

export const count: CountSide = {
  buildAddress: (calls) => calls.replace(/:(generate|streamGenerate)Content(?=\?|$)/, ':countTokens'),
  encodeRequest(request, model) {
    const { body, losses } = encodeRequest(request, model, undefined);
    const generateContentRequest = { ...readObject(body), model: `models/${model.upstream}` };
    return { body: { generateContentRequest }, losses };
  },
  decodeReply: (body) => readTokens(body, 'totalTokens'),
  encodeReply: (tokens) => ({ totalTokens: tokens }),
};
