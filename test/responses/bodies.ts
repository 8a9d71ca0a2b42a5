/** Bodies for the tests of this protocol: a model for them, and what of a body reaches the provider. */
import type { ClientCall, Model, ModelFacts } from '../../core/index.ts';
import { protocol } from '../../plugins/protocols/responses/index.ts';
import { isObject } from '../support/json.ts';
import { createModelFactory } from '../support/model-from.ts';
import { call, createEncoder } from '../support/turns.ts';

/** A model that can do everything, except what a test overrides. */
export const makeModel = createModelFactory({
  id: 'openai/gpt-5.5',
  upstream: 'gpt-5.5-upstream',
  input: ['text', 'image', 'audio', 'pdf'],
  capabilities: {
    reasoning: { style: 'effort' },
    hosted: ['web-search', 'code-execution'],
    wire: { responses: { compaction: true } },
  },
});

/** The model that a body names. */
export function chooseModel(body: unknown): Model {
  return makeModel({ id: String(isObject(body) ? body.model : '') });
}

/** Applies the edits that the gateway makes on purpose. */
export function applyEdits(body: unknown, model: Model): unknown {
  if (!isObject(body)) return body;
  const { provider: _provider, ...rest } = body;
  return { ...rest, model: model.upstream };
}

function readCall(body: Record<string, unknown>): ClientCall {
  const text = JSON.stringify(body);
  return protocol.client.read(JSON.parse(text), text, { operation: 'generate' }, {});
}

/** Reads a call with these fields and the required ones. */
export function makeCall(fields: Record<string, unknown> = {}): ClientCall {
  return readCall({ model: 'openai/gpt-5.5', input: 'Ahoy', ...fields });
}

/** Encodes a request as another protocol's client may have made it. */
export const encode = createEncoder(protocol, makeModel);

/** A call whose arguments have digits to keep. */
export const called = call('c1', 'f', { arguments: '{"n":1.0}' });
export const user = { role: 'user', content: 'x' };

/** An item after a message of the user. */
export const item = (value: unknown): Record<string, unknown> => ({ input: [user, value] });

/** The model with these differences of what it can do. */
export const makeCapable = (capabilities: ModelFacts['capabilities']): Model => makeModel({ capabilities });
