/** Settings of a request: sampling, limits, the form of the answer, whose call it is. */
import type { Json } from '../../support/json.ts';
import { hear, readObjects } from '../../support/listen.ts';
import { wires, type Wire } from '../../support/replaying-vendor.ts';
import {
  meetsAny,
  has,
  holds,
  mentions,
  type ByWire,
  type Capability,
  type Check,
  fillWires,
} from '../capability.ts';

const schema = {
  type: 'object',
  properties: { at: { type: 'string' } },
  required: ['at'],
  additionalProperties: false,
};

/** A setting that each protocol has one field for. */
function field(name: string, fields: Partial<Record<Wire, object>>): Capability {
  return {
    name,
    ask: fields,
    got: Object.fromEntries(Object.entries(fields).map(([wire, pattern]) => [wire, has(pattern)])),
  };
}

function config(fields: object): object {
  return { generationConfig: fields };
}

function says(expected: string): ByWire<Check> {
  return Object.fromEntries(
    wires.map((wire) => [wire, (reply: Json) => hear(wire, reply).text === expected]),
  );
}

const stops: ByWire<Check> = {
  'chat-completions': (reply) =>
    hear('chat-completions', reply).text === 'One ' && hear('chat-completions', reply).reason === 'stop',
  // Which of them it was, only a vendor of this wire tells.
  messages: (reply) =>
    hear('messages', reply).text === 'One ' &&
    ['stop_sequence', 'end_turn'].includes(String(reply.stop_reason)),
  'generate-content': (reply) =>
    hear('generate-content', reply).text === 'One ' && hear('generate-content', reply).reason === 'STOP',
};

/** OpenAI's models are asked for an object. */
const wrappedList = {
  type: 'object',
  properties: { answer: { type: 'array', items: { type: 'string' } } },
  required: ['answer'],
};

export const settings: readonly Capability[] = [
  field('temperature', {
    'chat-completions': { temperature: 0.5 },
    responses: { temperature: 0.5 },
    messages: { temperature: 0.5 },
    'generate-content': config({ temperature: 0.5 }),
  }),
  field('top_p', {
    'chat-completions': { top_p: 0.5 },
    responses: { top_p: 0.5 },
    messages: { top_p: 0.5 },
    'generate-content': config({ topP: 0.5 }),
  }),
  field('top_k', { messages: { top_k: 40 }, 'generate-content': config({ topK: 40 }) }),
  field('frequency and presence penalties', {
    'chat-completions': { frequency_penalty: 0.5, presence_penalty: 0.25 },
    'generate-content': config({ frequencyPenalty: 0.5, presencePenalty: 0.25 }),
  }),
  field('seed', { 'chat-completions': { seed: 7 }, 'generate-content': config({ seed: 7 }) }),
  field('logit bias', { 'chat-completions': { logit_bias: { '50256': -100 } } }),
  field('output limit', {
    'chat-completions': { max_completion_tokens: 77 },
    responses: { max_output_tokens: 77 },
    messages: { max_tokens: 77 },
    'generate-content': config({ maxOutputTokens: 77 }),
  }),
  {
    name: 'stop sequences',
    ask: {
      'chat-completions': { stop: ['END'] },
      messages: { stop_sequences: ['END'] },
      'generate-content': config({ stopSequences: ['END'] }),
    },
    // The wire of responses has no field for them: the gateway stops in its place.
    got: {
      'chat-completions': meetsAny(has({ stop: ['END'] }), has({ stop: 'END' })),
      messages: has({ stop_sequences: ['END'] }),
      'generate-content': holds({ stopSequences: ['END'] }),
      responses: () => true,
    },
    // The fake of chat-completions says what its script says and stops there.
    does: { ...fillWires({ text: ['One ', 'E', 'ND', ' two'] }), 'chat-completions': { text: 'One ' } },
    shown: stops,
  },
  {
    name: 'JSON mode',
    ask: {
      'chat-completions': {
        response_format: { type: 'json_object' },
        messages: [{ role: 'user', content: 'JSON, please.' }],
      },
      responses: { text: { format: { type: 'json_object' } }, input: 'JSON, please.' },
      'generate-content': {
        ...config({ responseMimeType: 'application/json' }),
        contents: [{ role: 'user', parts: [{ text: 'JSON, please.' }] }],
      },
    },
    got: {
      'chat-completions': has({ response_format: { type: 'json_object' } }),
      responses: has({ text: { format: { type: 'json_object' } } }),
      'generate-content': holds({ responseMimeType: 'application/json' }),
    },
    instead: { messages: mentions(/JSON object/) },
  },
  {
    name: 'structured output',
    ask: {
      'chat-completions': {
        response_format: { type: 'json_schema', json_schema: { name: 'tides', strict: true, schema } },
      },
      responses: { text: { format: { type: 'json_schema', name: 'tides', strict: true, schema } } },
      messages: { output_config: { format: { type: 'json_schema', schema } } },
      'generate-content': config({ responseMimeType: 'application/json', responseJsonSchema: schema }),
    },
    got: {
      'chat-completions': holds({ type: 'json_schema', json_schema: { schema } }),
      responses: holds({ type: 'json_schema', schema }),
      messages: holds({ format: { type: 'json_schema', schema } }),
      'generate-content': holds({ responseMimeType: 'application/json', responseJsonSchema: schema }),
    },
    does: fillWires({ text: '{"at":"noon"}' }),
    shown: says('{"at":"noon"}'),
  },
  {
    name: 'structured output of an array',
    ask: {
      'generate-content': config({
        responseMimeType: 'application/json',
        responseSchema: { type: 'ARRAY', items: { type: 'STRING' } },
      }),
    },
    got: {
      'generate-content': holds({ responseSchema: { type: 'ARRAY', items: { type: 'STRING' } } }),
      messages: holds({
        format: { type: 'json_schema', schema: { type: 'array', items: { type: 'string' } } },
      }),
      'chat-completions': holds({ json_schema: { schema: wrappedList } }),
      responses: holds({ type: 'json_schema', schema: wrappedList }),
    },
    does: {
      ...fillWires({ text: '["noon"]' }),
      'chat-completions': { text: '{"answer":["noon"]}' },
      responses: { text: ['{"ans', 'wer": ["noon"', ']}'] },
    },
    shown: says('["noon"]'),
  },
  {
    ...field('verbosity', {
      'chat-completions': { verbosity: 'low' },
      responses: { text: { verbosity: 'low' } },
    }),
    model: 'thinking',
  },
  {
    name: 'log probabilities',
    ask: {
      'chat-completions': { logprobs: true, top_logprobs: 2 },
      responses: { include: ['message.output_text.logprobs'], top_logprobs: 2 },
      'generate-content': config({ responseLogprobs: true, logprobs: 2 }),
    },
    got: {
      'chat-completions': has({ logprobs: true, top_logprobs: 2 }),
      responses: (body) => has({ top_logprobs: 2 })(body) && mentions('message.output_text.logprobs')(body),
      'generate-content': holds({ responseLogprobs: true, logprobs: 2 }),
    },
    does: {
      'chat-completions': { text: 'Noon.' },
      responses: { text: 'Noon.' },
      'generate-content': { text: 'Noon.' },
    },
    shown: {
      'chat-completions': holds({ token: /./, logprob: -0.25 }),
      responses: holds({ token: /./, logprob: -0.25 }),
      'generate-content': holds({ token: /./, logProbability: -0.25 }),
    },
  },
  {
    name: 'several candidates',
    ask: { 'chat-completions': { n: 2 }, 'generate-content': config({ candidateCount: 2 }) },
    got: { 'chat-completions': has({ n: 2 }), 'generate-content': holds({ candidateCount: 2 }) },
    does: {
      'chat-completions': { candidates: [{ text: 'One.' }, { text: 'Two.' }] },
      'generate-content': { candidates: [{ text: 'One.' }, { text: 'Two.' }] },
    },
    shown: {
      'chat-completions': (reply) => readObjects(reply.choices).length === 2 && mentions('Two.')(reply),
      'generate-content': (reply) => readObjects(reply.candidates).length === 2 && mentions('Two.')(reply),
    },
  },
  field('end user', {
    'chat-completions': { user: 'u-1' },
    responses: { user: 'u-1' },
    messages: { metadata: { user_id: 'u-1' } },
  }),
  {
    name: 'safety identifier',
    ask: { 'chat-completions': { safety_identifier: 's-1' }, responses: { safety_identifier: 's-1' } },
    got: {
      'chat-completions': has({ safety_identifier: 's-1' }),
      responses: has({ safety_identifier: 's-1' }),
      messages: has({ metadata: { user_id: 's-1' } }),
    },
  },
  field('metadata', {
    'chat-completions': { metadata: { voyage: '12' } },
    responses: { metadata: { voyage: '12' } },
  }),
  field('service tier', {
    'chat-completions': { service_tier: 'flex' },
    responses: { service_tier: 'flex' },
    'generate-content': { serviceTier: 'flex' },
  }),
  field('prediction', { 'chat-completions': { prediction: { type: 'content', content: 'Ahoy' } } }),
  field('safety settings', {
    'generate-content': {
      safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_ONLY_HIGH' }],
    },
  }),
];
