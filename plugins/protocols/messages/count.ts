/** Counts the input tokens of a request. The count request is a normal one without fields about the reply. */
import { toCount, type CountSide } from '../../../core/index.ts';
import { isObject, splitNames } from '../../shared/wire-kit/vendor-bag.ts';
import { encodeRequest } from './encode-request.ts';

/** Fields that Anthropic refuses in a count request. */
const notCounted = splitNames(`
  max_tokens stream temperature top_p top_k stop_sequences metadata service_tier container inference_geo
  diagnostics
`);

export const count: CountSide = {
  buildAddress: (calls) => calls.replace(/(?=\?|$)/, '/count_tokens'),
  encodeRequest(request, model) {
    const { body, losses } = encodeRequest(request, model, undefined);
    return {
      body: isObject(body)
        ? Object.fromEntries(Object.entries(body).filter(([name]) => !notCounted.has(name)))
        : body,
      losses,
    };
  },
  decodeReply(body) {
    const tokens = isObject(body) ? toCount(body.input_tokens) : undefined;
    if (tokens === undefined) throw new Error('The provider sent a token count without "input_tokens".');
    return tokens;
  },
  encodeReply: (tokens) => ({ input_tokens: tokens }),
};
