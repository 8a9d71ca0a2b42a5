/** Helpers for this protocol's bodies: models, matches and calls. */
import type { ClientCall, Match, Model, ModelFacts } from '../../core/index.ts';
import { createProtocol } from '../../plugins/protocols/generate-content/index.ts';
import { createModelFactory } from '../support/model-from.ts';
import { createEncoder } from '../support/turns.ts';

export const protocol = createProtocol('/beta');

/** A Gemini with every capability, except for the given changes. */
export const makeModel = createModelFactory({
  id: 'google/gemini-3-pro',
  upstream: 'gemini-3-pro-upstream',
  input: ['text', 'image', 'audio', 'video', 'pdf'],
  capabilities: {
    reasoning: { style: 'level', efforts: ['low', 'medium', 'high'], canDisable: false },
    hosted: ['web-search', 'code-execution'],
  },
});

export const older = makeModel({
  id: 'google/gemini-2.5-flash',
  upstream: 'gemini-2.5-flash',
  capabilities: { reasoning: { style: 'budget', budget: { min: 128, max: 24_576 }, canDisable: true } },
});

/** What an address says of a call. */
export function makeMatch(stream = false, framing: 'events' | 'array' = 'events'): Match {
  return { operation: 'generate', model: 'google/gemini-3-pro', stream, framing };
}

/** The required fields of a body. */
export const smallest = { contents: [{ role: 'user', parts: [{ text: 'Ahoy' }] }] };

/** What a client sends that wants to see thoughts. */
export const showingThoughts = { generationConfig: { thinkingConfig: { includeThoughts: true } } };

/** A call with these fields and the required ones. */
export function makeCall(fields: Record<string, unknown> = {}, match: Match = makeMatch()): ClientCall {
  const text = JSON.stringify({ ...smallest, ...fields });
  return protocol.client.read(JSON.parse(text), text, match, {});
}

/** Encodes a request as another protocol's client may have made it. */
export const encode = createEncoder(protocol, makeModel);

/** The model with these differences of what it can do. */
export const makeCapable = (capabilities: ModelFacts['capabilities']): Model => makeModel({ capabilities });
