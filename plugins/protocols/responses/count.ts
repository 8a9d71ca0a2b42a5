/**
 * Counts the input tokens of a request. The count request is a normal one without fields about the output.
 */
import type { CountSide } from '../../../core/index.ts';
import { readObject, readTokens } from '../../shared/wire-kit/values.ts';
import { splitNames } from '../../shared/wire-kit/vendor-bag.ts';
import { bag } from './bag.ts';
import { encodeRequest } from './encode-request.ts';

/** The only fields that OpenAI accepts in a count request. */
const countedFields = splitNames(`
  model input instructions parallel_tool_calls reasoning text tool_choice tools truncation
`);

export const count: CountSide = {
  buildAddress: (calls) => calls.replace(/(?=\?|$)/, '/input_tokens'),
  encodeRequest(request, model) {
    const { body, losses } = encodeRequest(request, model, undefined);
    if (bag.has(request, 'read')) return { body, losses };
    const counted = Object.entries(readObject(body)).filter(([name]) => countedFields.has(name));
    return { body: Object.fromEntries(counted), losses };
  },
  decodeReply: (body) => readTokens(body, 'input_tokens'),
  encodeReply: (tokens) => ({ object: 'response.input_tokens', input_tokens: tokens }),
};
