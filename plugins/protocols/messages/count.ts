/** Counts the input tokens of a request. The count request is a normal one without fields about the reply. */
import type { CountSide } from '../../../core/index.ts';
import { readObject, readTokens } from '../../shared/wire-kit/values.ts';
import { splitNames } from '../../shared/wire-kit/vendor-bag.ts';
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
    const counted = Object.entries(readObject(body)).filter(([name]) => !notCounted.has(name));
    return { body: Object.fromEntries(counted), losses };
  },
  decodeReply: (body) => readTokens(body, 'input_tokens'),
  encodeReply: (tokens) => ({ input_tokens: tokens }),
};
