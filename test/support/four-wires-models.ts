/** The models of `four-wires.ts`, by the wire of their vendor. */
import { type ModelFacts } from '../../core/index.ts';
import { type Wire } from './replaying-vendor.ts';

type Facts = Partial<ModelFacts> & { readonly id: string; readonly upstream: string };

export const seen: ModelFacts['input'] = ['text', 'image', 'audio', 'video', 'pdf'];

/** What the vendors charge for separately from tokens. */
export const fees = { webSearch: '0.01', fileSearch: '0.0025', container: '0.03' };
const hosted: ('web-search' | 'code-execution')[] = ['web-search', 'code-execution'];

const chatParameters = [
  'frequency_penalty',
  'logit_bias',
  'logprobs',
  'presence_penalty',
  'seed',
  'stop',
  'temperature',
  'top_logprobs',
  'top_p',
  'web_search_options',
];

export const facts: Readonly<
  Record<
    Wire,
    {
      readonly plain: Facts;
      readonly thinking: Facts;
      readonly drawing?: Facts;
      readonly searching?: Facts;
      readonly speaking?: Facts;
    }
  >
> = {
  'chat-completions': {
    plain: {
      id: 'openai/chat-plain',
      upstream: 'gpt-4o',
      supportedParameters: chatParameters,
      capabilities: {
        wire: {
          'chat-completions': { outputLimitField: 'max_completion_tokens', extras: true, cacheMarks: true },
        },
      },
    },
    thinking: {
      id: 'openai/chat-thinking',
      upstream: 'gpt-5',
      supportedParameters: ['seed', 'web_search_options'],
      capabilities: {
        sampling: false,
        reasoning: { style: 'effort', efforts: ['minimal', 'low', 'medium', 'high'] },
        wire: {
          'chat-completions': { outputLimitField: 'max_completion_tokens', extras: true, cacheMarks: true },
        },
      },
    },
    speaking: {
      id: 'openai/chat-speaking',
      upstream: 'gpt-audio',
      output: ['text', 'audio'],
      capabilities: {
        wire: { 'chat-completions': { outputLimitField: 'max_completion_tokens', extras: true } },
      },
    },
    searching: {
      id: 'openai/chat-searching',
      upstream: 'gpt-4o-mini',
      supportedParameters: ['max_tokens', 'web_search_options'],
      capabilities: {
        wire: { 'chat-completions': { outputLimitField: 'max_completion_tokens', extras: true } },
      },
    },
  },
  responses: {
    plain: {
      id: 'openai/responses-plain',
      upstream: 'gpt-4.1',
      capabilities: { hosted },
    },
    drawing: {
      id: 'openai/responses-drawing',
      upstream: 'gpt-4.1',
      price: { input: '1', output: '2', ...fees, modes: { image_generation: { input: '5', output: '40' } } },
      capabilities: { hosted },
    },
    thinking: {
      id: 'openai/responses-thinking',
      upstream: 'gpt-5.6-sol',
      capabilities: {
        hosted,
        sampling: false,
        reasoning: { style: 'effort', efforts: ['none', 'low', 'medium', 'high', 'xhigh', 'max'] },
        wire: { responses: { cacheMarks: true } },
      },
    },
  },
  messages: {
    plain: {
      id: 'anthropic/messages-plain',
      upstream: 'claude-opus-4-5',
      capabilities: {
        hosted,
        reasoning: {
          style: 'budget',
          efforts: ['low', 'medium', 'high'],
          budget: { min: 1024 },
          canDisable: true,
        },
      },
    },
    thinking: {
      id: 'anthropic/messages-thinking',
      upstream: 'claude-sonnet-5',
      capabilities: {
        hosted,

        sampling: false,
        reasoning: {
          style: 'adaptive',
          efforts: ['low', 'medium', 'high', 'xhigh', 'max'],
          canDisable: true,
        },
        wire: { messages: { midSystem: true, prefill: false } },
      },
    },
  },
  'generate-content': {
    plain: {
      id: 'google/generate-plain',
      upstream: 'gemini-2.5-flash',
      capabilities: {
        hosted,
        reasoning: { style: 'budget', budget: { min: 0, max: 24_576 }, canDisable: true },
      },
    },
    thinking: {
      id: 'google/generate-thinking',
      upstream: 'gemini-3-pro-preview',
      capabilities: {
        hosted,
        reasoning: { style: 'level', efforts: ['low', 'medium', 'high'], canDisable: false },
      },
    },
    speaking: { id: 'google/generate-speaking', upstream: 'gemini-2.5-flash-preview-tts', output: ['audio'] },
    drawing: { id: 'google/generate-drawing', upstream: 'gemini-2.5-flash-image', output: ['text', 'image'] },
  },
};
