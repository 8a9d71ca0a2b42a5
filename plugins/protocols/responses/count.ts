/**
 * Counts the input tokens of a request. The count request is a normal one without fields about the output.
 */
import { toCount, type CountSide } from '../../../core/index.ts';
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag } from './bag.ts';
import { encodeRequest } from './encode-request.ts';

/** The only fields that OpenAI accepts in a count request. */
const countedFields = [
  'model',
  'input',
  'instructions',
  'parallel_tool_calls',
  'reasoning',
  'text',
  'tool_choice',
  'tools',
  'truncation',
] as const;

export const count: CountSide = {
  buildAddress: (calls) => calls.replace(/(?=\?|$)/, '/input_tokens'),
  encodeRequest(request, model) {
    const { body, losses } = encodeRequest(request, model, undefined);
    if (!isObject(body) || bag.has(request, 'read')) return { body, losses };
    const fields: Fields = body;
    return {
      body: Object.fromEntries(
        countedFields.flatMap((name) => (name in fields ? [[name, fields[name]]] : [])),
      ),
      losses,
    };
  },
  decodeReply(body) {
    const tokens = isObject(body) ? toCount(body.input_tokens) : undefined;
    if (tokens === undefined) throw new Error('The provider sent a token count without "input_tokens".');
    return tokens;
  },
  encodeReply: (tokens) => ({ object: 'response.input_tokens', input_tokens: tokens }),
};
