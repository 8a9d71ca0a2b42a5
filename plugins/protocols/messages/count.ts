/** Counting the tokens of an input: a request without what is only about its reply, and one number back. */
import { toCount, type CountSide } from '../../../core/index.ts';
import { isObject, splitNames } from '../../shared/wire-kit/vendor-bag.ts';
import { encodeRequest } from './encode-request.ts';

/** Fields of a call that Anthropic refuses in a count. */
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
    if (tokens === undefined) throw new TypeError('a count of tokens has "input_tokens"');
    return tokens;
  },
  encodeReply: (tokens) => ({ input_tokens: tokens }),
};
