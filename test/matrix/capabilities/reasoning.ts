/** Reasoning: how much of it, what is shown, and its sealed state over turns. */
import {
  answerCalls,
  keepReply,
  buildUserEntry,
  buildConversation,
} from '../../support/continue-conversation.ts';
import { isObject, type Json } from '../../support/json.ts';
import { hear } from '../../support/listen.ts';
import { wires, type Wire } from '../../support/replaying-vendor.ts';
import {
  meetsAny,
  fillWires,
  has,
  holds,
  mentions,
  type ByWire,
  type Capability,
  type Check,
} from '../capability.ts';
import { least, offerTools, tide, mergeParts } from '../spelling.ts';

const high: Readonly<Record<Wire, object>> = {
  'chat-completions': { reasoning_effort: 'high' },
  responses: {
    reasoning: { effort: 'high', summary: 'auto' },
    include: ['reasoning.encrypted_content'],
    store: false,
  },
  messages: { thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort: 'high' } },
  'generate-content': {
    generationConfig: { thinkingConfig: { thinkingLevel: 'high', includeThoughts: true } },
  },
};

function shows(text: string): ByWire<Check> {
  return Object.fromEntries(
    wires.map((wire) => [wire, (reply: Json) => hear(wire, reply).reasoning.includes(text)]),
  );
}

/** What a client of each protocol sends to go on from a reply that called a tool, as it was given. */
function continueCall(client: Wire): (reply: Json) => object {
  const settings = { ...least[client], ...high[client], ...offerTools(tide)[client] };
  return (reply) => ({
    ...settings,
    ...buildConversation(client, [
      buildUserEntry(client, 'Ahoy'),
      ...keepReply(client, reply),
      ...answerCalls(client, reply, () => '05:12'),
    ]),
  });
}

const sealedState: ByWire<Check> = {
  // The strict vendor takes no seal but its own, unaltered and in its place.
  responses: holds({ type: 'reasoning', encrypted_content: /./ }),
  messages: meetsAny(
    holds({ type: 'thinking', signature: /./ }),
    holds({ type: 'redacted_thinking', data: /./ }),
  ),
  'generate-content': (body) =>
    holds({ thoughtSignature: /./ })(body) && !mentions(/skip_thought_signature|context_engineering/)(body),
};

const called = {
  reasoning: 'The moon decides.',
  toolCalls: [{ name: 'tide_at', arguments: '{"harbour":"Hull"}' }],
};

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
    // Whether it is shown as well is another matter.
    regardless: true,
  },
  {
    name: 'reasoning budget',
    model: (wire) => (wire === 'chat-completions' || wire === 'responses' ? 'thinking' : 'plain'),
    instead: {
      'chat-completions': has({ reasoning_effort: /./ }),
      responses: has({ reasoning: { effort: /./ } }),
    },
    ask: {
      messages: { max_tokens: 9000, thinking: { type: 'enabled', budget_tokens: 2048 } },
      'generate-content': { generationConfig: { thinkingConfig: { thinkingBudget: 2048 } } },
    },
    got: {
      messages: has({ thinking: { type: 'enabled', budget_tokens: 2048 } }),
      'generate-content': holds({ thinkingConfig: { thinkingBudget: 2048 } }),
    },
  },
  {
    name: 'reasoning disabled',
    ask: {
      messages: { thinking: { type: 'disabled' } },
      'generate-content': { generationConfig: { thinkingConfig: { thinkingBudget: 0 } } },
    },
    got: {
      // A model that does not reason has nothing to be switched off.
      'chat-completions': (body) => body.reasoning_effort === undefined || body.reasoning_effort === 'none',
      responses: (body) => body.reasoning === undefined || has({ reasoning: { effort: 'none' } })(body),
      messages: (body) => body.thinking === undefined || has({ thinking: { type: 'disabled' } })(body),
      'generate-content': holds({ thinkingConfig: { thinkingBudget: 0 } }),
    },
  },
  {
    name: 'reasoning text',
    model: 'thinking',
    ask: high,
    got: {
      responses: has({ reasoning: { summary: /./ } }),
      messages: (body) => isObject(body.thinking),
      'generate-content': holds({ thinkingConfig: { includeThoughts: true } }),
      'chat-completions': fillWires(() => true)['chat-completions'],
    },
    // OpenAI itself shows none by chat-completions, which is reported; other providers of that protocol do.
    regardless: true,
    does: fillWires({ reasoning: 'The moon decides.', text: 'At noon.' }),
    shown: shows('The moon decides.'),
  },
  {
    name: 'encrypted reasoning in later turns',
    model: 'thinking',
    ask: mergeParts(high, offerTools(tide)),
    follow: Object.fromEntries(wires.map((wire) => [wire, continueCall(wire)])),
    got: sealedState,
    regardless: true,
    does: { responses: called, messages: called, 'generate-content': called },
  },
  {
    name: 'redacted reasoning in later turns',
    model: 'thinking',
    ask: mergeParts(high, offerTools(tide)),
    follow: Object.fromEntries(wires.map((wire) => [wire, continueCall(wire)])),
    regardless: true,
    got: {
      messages: sealedState.messages ?? (() => false),
      responses: sealedState.responses ?? (() => false),
    },
    does: { messages: { ...called, sealed: true }, responses: { ...called, sealed: true } },
  },
];
