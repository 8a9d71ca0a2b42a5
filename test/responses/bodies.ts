/** What the tests of this protocol know of its bodies: a model that takes one, and how one is to arrive there. */
import type { ClientCall, Model } from '../../core/index.ts';
import { protocol } from '../../plugins/protocols/responses/index.ts';
import { isObject } from '../support/json.ts';
import { modelFrom } from '../support/model-from.ts';

/** A model that can do everything, but for what is said otherwise. */
export const modelWith = modelFrom({
  id: 'openai/gpt-5.5',
  upstream: 'gpt-5.5-upstream',
  input: ['text', 'image', 'audio', 'pdf'],
  capabilities: { reasoning: { style: 'effort' }, hosted: ['web-search', 'code-execution'] },
});

/** The model a body asks for. */
export function modelFor(body: unknown): Model {
  return modelWith({ id: String(isObject(body) ? body.model : '') });
}

/** The edits the gateway makes on purpose, and nothing else. */
export function sentBody(body: unknown, model: Model): unknown {
  if (!isObject(body)) return body;
  const { provider: _provider, ...rest } = body;
  return { ...rest, model: model.upstream };
}

function callOf(body: Record<string, unknown>): ClientCall {
  const text = JSON.stringify(body);
  return protocol.client.read(JSON.parse(text), text, { operation: 'generate' }, {});
}

/** A call with these fields beside the least a body needs. */
export function callWith(fields: Record<string, unknown> = {}): ClientCall {
  return callOf({ model: 'openai/gpt-5.5', input: 'Ahoy', ...fields });
}
