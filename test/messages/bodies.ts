/**
 * What the tests of this protocol need for its bodies: a model that accepts one, and how the provider should
 * receive it.
 */
import {
  requestSchema,
  type CanonicalRequest,
  type ClientCall,
  type Loss,
  type Model,
  type ModelFacts,
  type Block,
  type Tool,
  type Turn,
} from '../../core/index.ts';
import { createProtocol } from '../../plugins/protocols/messages/index.ts';
import { isObject } from '../support/json.ts';
import { createModelFactory } from '../support/model-from.ts';
import { ahoy, call } from '../support/turns.ts';

export const protocol = createProtocol('/alpha');
export const version = { 'anthropic-version': '2023-06-01' };

/** A model that supports everything, except for the stated differences. */
export const makeModel = createModelFactory({
  id: 'anthropic/claude-test',
  upstream: 'claude-test-upstream',
  outputLimit: 64_000,
  input: ['text', 'image', 'pdf'],
  capabilities: {
    reasoning: { style: 'budget', budget: { min: 1024 } },
    hosted: ['web-search', 'code-execution'],
    wire: { messages: { midSystem: true } },
  },
});

/** The model a body asks for, of the generation that reasons in the body's way. */
export function chooseModel(body: unknown): Model {
  const fields = isObject(body) ? body : {};
  const thinking = isObject(fields.thinking) ? fields.thinking.type : undefined;
  const reasoning = thinking === 'adaptive' ? { style: 'adaptive' as const } : { style: 'budget' as const };
  return makeModel({
    id: String(fields.model),
    capabilities: { reasoning, wire: { messages: { midSystem: true } } },
  });
}

/** The one edit the gateway makes on purpose. */
export function applyEdits(body: unknown, model: Model): unknown {
  return isObject(body) ? { ...body, model: model.upstream } : body;
}

const smallest = {
  model: 'anthropic/claude-test',
  max_tokens: 100,
  messages: [{ role: 'user', content: 'Ahoy' }],
};

/** A call with these fields and the minimum that a body needs. */
export function makeCall(
  fields: Record<string, unknown> = {},
  headers: Record<string, string> = {},
): ClientCall {
  const text = JSON.stringify({ ...smallest, ...fields });
  return protocol.client.read(JSON.parse(text), text, { operation: 'generate' }, { ...version, ...headers });
}

export interface Sent {
  readonly body: Record<string, unknown>;
  readonly losses: readonly Loss[];
  /** The paths that were lost. */
  readonly lost: readonly string[];
}

/** The request that the gateway sends for a request in another protocol. */
export function send(request: Partial<CanonicalRequest>, model = makeModel(), outputLimit?: number): Sent {
  const whole = requestSchema.parse({
    model: model.id,
    stream: false,
    turns: [ahoy],
    ...request,
  });
  const { body, losses } = protocol.upstream.encodeRequest(whole, model, outputLimit);
  const json: unknown = JSON.parse(JSON.stringify(body));
  return { body: isObject(json) ? json : {}, losses, lost: losses.map(({ path }) => path) };
}

/** A call of the tool `look`. */
export const callLook = (id: string, args = '{}'): Block => call(id, 'look', { arguments: args });
export const look: Tool = { type: 'function', name: 'look', schema: { type: 'object', properties: {} } };
export const turns = (...list: Turn[]): Partial<CanonicalRequest> => ({ turns: list });

/** The model with these differences of what it can do. */
export const makeCapable = (capabilities: ModelFacts['capabilities']): Model => makeModel({ capabilities });
