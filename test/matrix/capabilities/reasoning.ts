/** Reasoning: how much of it, what is shown, and its sealed state over turns. */
import { any, everywhere, has, holds, mentions, type ByWire, type Capability, type Check } from '../capability.ts';
import { least, offering, tide, together } from '../spelling.ts';
import { hear, isObject, objects, type Json } from '../../support/listen.ts';
import { wires, type Wire } from '../../support/replaying-vendor.ts';

const high: Readonly<Record<Wire, object>> = {
  'chat-completions': { reasoning_effort: 'high' },
  responses: { reasoning: { effort: 'high', summary: 'auto' }, include: ['reasoning.encrypted_content'], store: false },
  messages: { thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort: 'high' } },
  'generate-content': { generationConfig: { thinkingConfig: { thinkingLevel: 'high', includeThoughts: true } } },
};

function shows(text: string): ByWire<Check> {
  return Object.fromEntries(wires.map((wire) => [wire, (reply: Json) => hear(wire, reply).reasoning.includes(text)]));
}

/** What a client of each protocol sends to go on from a reply that called a tool, as it was given. */
const goingOn: Readonly<Record<Wire, (reply: Json) => object>> = {
  'chat-completions': (reply) => {
    const [{ message } = {}] = objects(reply['choices']);
    const calls = isObject(message) ? objects(message['tool_calls']) : [];
    return { messages: [{ role: 'user', content: 'Ahoy' }, message, ...calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: '05:12' }))] };
  },
  responses: (reply) => {
    const output = objects(reply['output']);
    const results = output.flatMap(({ type, call_id: id }) => (type === 'function_call' ? [{ type: 'function_call_output', call_id: id, output: '05:12' }] : []));
    return { input: [{ role: 'user', content: 'Ahoy' }, ...output, ...results] };
  },
  messages: (reply) => {
    const content = objects(reply['content']);
    const results = content.flatMap(({ type, id }) => (type === 'tool_use' ? [{ type: 'tool_result', tool_use_id: id, content: '05:12' }] : []));
    return { messages: [{ role: 'user', content: 'Ahoy' }, { role: 'assistant', content }, { role: 'user', content: results }] };
  },
  'generate-content': (reply) => {
    const [{ content } = {}] = objects(reply['candidates']);
    const parts = isObject(content) ? objects(content['parts']) : [];
    const results = parts.flatMap(({ functionCall: call }) => (isObject(call) ? [{ functionResponse: { id: call['id'], name: call['name'], response: { output: '05:12' } } }] : []));
    return { contents: [{ role: 'user', parts: [{ text: 'Ahoy' }] }, content, { role: 'user', parts: results }] };
  },
};

const sealedState: ByWire<Check> = {
  // The strict vendor takes no seal but its own, unaltered and in its place.
  responses: holds({ type: 'reasoning', encrypted_content: /./ }),
  messages: any(holds({ type: 'thinking', signature: /./ }), holds({ type: 'redacted_thinking', data: /./ })),
  'generate-content': (body) => holds({ thoughtSignature: /./ })(body) && !mentions(/skip_thought_signature|context_engineering/)(body),
};

const called = { reasoning: 'The moon decides.', toolCalls: [{ name: 'tide_at', arguments: '{"harbour":"Hull"}' }] };

export const reasoning: readonly Capability[] = [
  {
    name: 'reasoning effort',
    model: 'thinking',
    ask: high,
    got: {
      'chat-completions': has({ reasoning_effort: 'high' }),
      responses: has({ reasoning: { effort: 'high' } }),
      messages: has({ output_config: { effort: 'high' } }),
      'generate-content': holds({ thinkingConfig: { thinkingLevel: /^high$/i } }),
    },
  },
  {
    name: 'reasoning budget',
    ask: {
      messages: { max_tokens: 9000, thinking: { type: 'enabled', budget_tokens: 2048 } },
      'generate-content': { generationConfig: { thinkingConfig: { thinkingBudget: 2048 } } },
    },
    got: { messages: has({ thinking: { type: 'enabled', budget_tokens: 2048 } }), 'generate-content': holds({ thinkingConfig: { thinkingBudget: 2048 } }) },
  },
  {
    name: 'reasoning switched off',
    ask: { messages: { thinking: { type: 'disabled' } }, 'generate-content': { generationConfig: { thinkingConfig: { thinkingBudget: 0 } } } },
    got: {
      // A model that does not reason has nothing to be switched off.
      'chat-completions': (body) => body['reasoning_effort'] === undefined || body['reasoning_effort'] === 'none',
      responses: (body) => body['reasoning'] === undefined || has({ reasoning: { effort: 'none' } })(body),
      messages: (body) => body['thinking'] === undefined || has({ thinking: { type: 'disabled' } })(body),
      'generate-content': holds({ thinkingConfig: { thinkingBudget: 0 } }),
    },
  },
  {
    name: 'reasoning text',
    model: 'thinking',
    ask: high,
    got: {
      responses: has({ reasoning: { summary: /./ } }),
      messages: (body) => isObject(body['thinking']),
      'generate-content': holds({ thinkingConfig: { includeThoughts: true } }),
      'chat-completions': everywhere(() => true)['chat-completions'],
    },
    does: everywhere({ reasoning: 'The moon decides.', text: 'At noon.' }),
    shown: shows('The moon decides.'),
  },
  {
    name: 'sealed reasoning over turns',
    model: 'thinking',
    ask: together(high, offering(tide)),
    follow: Object.fromEntries(wires.map((wire) => [wire, (reply: Json) => ({ ...least[wire], ...high[wire], ...offering(tide)[wire], ...goingOn[wire](reply) })])),
    got: sealedState,
    regardless: true,
    does: { responses: called, messages: called, 'generate-content': called },
  },
  {
    name: 'hidden reasoning over turns',
    model: 'thinking',
    ask: together(high, offering(tide)),
    follow: Object.fromEntries(wires.map((wire) => [wire, (reply: Json) => ({ ...least[wire], ...high[wire], ...offering(tide)[wire], ...goingOn[wire](reply) })])),
    regardless: true,
    got: { messages: sealedState.messages ?? (() => false), responses: sealedState.responses ?? (() => false) },
    does: { messages: { ...called, sealed: true }, responses: { ...called, sealed: true } },
  },
];
