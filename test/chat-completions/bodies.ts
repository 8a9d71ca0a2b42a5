/** Bodies for the tests of this protocol, a model that takes them, and what it should receive. */
import type { ClientCall, Model, ModelFacts } from '../../core/index.ts';
import { protocol } from '../../plugins/protocols/chat-completions/index.ts';
import { isObject } from '../support/json.ts';
import { createModelFactory } from '../support/model-from.ts';
import { createEncoder } from '../support/turns.ts';

/** A model that can do everything except what `fields` state. */
export const makeModel = createModelFactory({
  id: 'openai/gpt-5.5',
  upstream: 'gpt-5.5-upstream',
  input: ['text', 'image', 'audio', 'pdf'],
  capabilities: {
    reasoning: { style: 'effort' },
    wire: { 'chat-completions': { outputLimitField: 'max_completion_tokens', extras: true } },
  },
});

/**
 * The model of a body. It takes the output limit under the body's name, and reasoning, for which OpenAI has
 * no field.
 */
export function chooseModel(body: unknown): Model {
  const fields = isObject(body) ? body : {};
  return makeModel({
    id: String(fields.model),
    capabilities: {
      wire: {
        'chat-completions': {
          outputLimitField: fields.max_tokens ? 'max_tokens' : 'max_completion_tokens',
          extras: false,
        },
      },
    },
  });
}

/** The edits that the gateway makes on purpose, and nothing else. */
export function applyEdits(body: unknown, model: Model): unknown {
  if (!isObject(body)) return body;
  const { provider: _, ...rest } = body;
  const options = isObject(rest.stream_options) ? rest.stream_options : {};
  if (typeof rest.max_tokens === 'number' && typeof rest.max_completion_tokens === 'number') {
    // Of two limits the lower one is sent, under the name that the model takes.
    rest.max_tokens = Math.min(rest.max_tokens, rest.max_completion_tokens);
    delete rest.max_completion_tokens;
  }
  return {
    ...rest,
    model: model.upstream,
    ...(rest.stream === true ? { stream_options: { ...options, include_usage: true } } : {}),
  };
}

/** The required fields of a body. */
export const smallest = { model: 'openai/gpt-5.5', messages: [{ role: 'user', content: 'Ahoy' }] };

/** A call with the required fields and these. */
export function makeCall(fields: Record<string, unknown> = {}): ClientCall {
  const text = JSON.stringify({ ...smallest, ...fields });
  return protocol.client.read(JSON.parse(text), text, { operation: 'generate' }, {});
}

/** Encodes a request as another protocol's client may have made it. */
export const encode = createEncoder(protocol, makeModel);

/** A model without reasoning, at a provider that takes only the fields that all take. */
export const plainModel = makeModel({
  capabilities: { reasoning: { style: 'none' }, wire: { 'chat-completions': { extras: false } } },
});

/** Fields that hold one message: of the user, any, or a call. */
export const say = (content: unknown): Record<string, unknown> => ({
  messages: [{ role: 'user', content }],
});

export const message = (fields: unknown): Record<string, unknown> => ({ messages: [fields] });

/** The model with these differences of what it can do. */
export const makeCapable = (capabilities: ModelFacts['capabilities']): Model => makeModel({ capabilities });
