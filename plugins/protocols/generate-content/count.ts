/** Counts the input tokens of a request. The count request wraps a complete call. */
import { toCount, type CountSide } from '../../../core/index.ts';
import { isObject } from '../../shared/wire-kit/vendor-bag.ts';
import { encodeRequest } from './encode-request.ts';

export const count: CountSide = {
  buildAddress: (calls) => calls.replace(/:(generate|streamGenerate)Content(?=\?|$)/, ':countTokens'),
  encodeRequest(request, model) {
    const { body, losses } = encodeRequest(request, model, undefined);
    return {
      body: {
        generateContentRequest: { ...(isObject(body) ? body : {}), model: `models/${model.upstream}` },
      },
      losses,
    };
  },
  decodeReply(body) {
    const total = isObject(body) ? toCount(body.totalTokens) : undefined;
    if (total === undefined) throw new Error('The provider sent a token count without "totalTokens".');
    return total;
  },
  encodeReply: (tokens) => ({ totalTokens: tokens }),
};
