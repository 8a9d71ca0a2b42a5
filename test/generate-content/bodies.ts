/** What the tests of this protocol know of its bodies: a model that takes one, and how one is to arrive there. */
import type { ClientCall, Match } from '../../core/index.ts';
import { protocolAt } from '../../plugins/protocols/generate-content/index.ts';
import { modelFrom } from '../support/model-from.ts';

export const protocol = protocolAt('/beta');

/** A Gemini that can do everything, but for what is said otherwise. */
export const modelWith = modelFrom({
  id: 'google/gemini-3-pro',
  upstream: 'gemini-3-pro-upstream',
  input: ['text', 'image', 'audio', 'video', 'pdf'],
  capabilities: {
    reasoning: { style: 'level', efforts: ['low', 'medium', 'high'], canDisable: false },
    hosted: ['web-search', 'code-execution'],
  },
});

export const older = modelWith({
  id: 'google/gemini-2.5-flash',
  upstream: 'gemini-2.5-flash',
  capabilities: { reasoning: { style: 'budget', budget: { min: 128, max: 24_576 }, canDisable: true } },
});

/** What an address tells of a call. */
export function matchOf(stream = false, framing: 'events' | 'array' = 'events'): Match {
  return { operation: 'generate', model: 'google/gemini-3-pro', stream, framing };
}

/** The least a body needs. */
export const smallest = { contents: [{ role: 'user', parts: [{ text: 'Ahoy' }] }] };

/** A call with these fields beside the least a body needs. */
export function callWith(fields: Record<string, unknown> = {}, match: Match = matchOf()): ClientCall {
  const text = JSON.stringify({ ...smallest, ...fields });
  return protocol.client.read(JSON.parse(text), text, match, {});
}
