/** Requests of chat-completions that a provider of another wire would refuse unchanged, and what is lost. */
import { type Wire } from '../support/four-wires.ts';

const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

export type Body = Readonly<Record<string, unknown>>;

export const say = (content: unknown): Body => ({ role: 'user', content });
const answer = (content: string): Body => ({ role: 'assistant', content });

export const calls = (...made: readonly (readonly [id: string, name: string, given?: string])[]): Body => ({
  role: 'assistant',
  content: null,
  tool_calls: made.map(([id, name, given = '{}']) => ({
    id,
    type: 'function',
    function: { name, arguments: given },
  })),
});

export const result = (id: string, content: string): Body => ({ role: 'tool', tool_call_id: id, content });

export const tool = (parameters?: unknown, more: Body = {}): Body => ({
  tools: [{ type: 'function', function: { name: 'look', parameters, ...more } }],
});

export const hi: Body = { messages: [say('Hi')] };
export const longId = 'i'.repeat(80);

export interface Case {
  /** chat-completions, if it is not stated. */
  readonly client?: Wire;
  readonly body: Body;
  /** The path reported as lost: by every other wire, or by the wire that loses it. */
  readonly lost?: string | Partial<Readonly<Record<Wire, string>>>;
}

export const fromChat: Readonly<Record<string, Case>> = {
  'ids of calls that are too long for some': {
    body: { ...tool(), messages: [say('Go'), calls([longId, 'look']), result(longId, 'seen')] },
  },
  'ids that are empty': {
    body: { ...tool(), messages: [say('Go'), calls(['', 'look']), result('', 'seen')] },
  },
  'instructions with a picture': {
    body: {
      messages: [
        {
          role: 'system',
          content: [
            { type: 'text', text: 'Greet.' },
            { type: 'image_url', image_url: { url: 'https://pictures.example/a.png' } },
          ],
        },
        say('Hi'),
      ],
    },
    lost: { messages: 'messages[0].content[1]', 'generate-content': 'messages[0].content[1]' },
  },
  'ids that the next step reuses': {
    body: {
      ...tool(),
      messages: [
        say('Go'),
        calls(['call_0', 'look'], ['call_1', 'look']),
        result('call_0', 'a'),
        result('call_1', 'b'),
        calls(['call_0', 'look']),
        result('call_0', 'c'),
      ],
    },
  },
  'a call that is answered twice': {
    body: {
      ...tool(),
      messages: [say('Go'), calls(['a', 'look']), result('a', 'running'), result('a', 'seen'), say('Well?')],
    },
    lost: 'messages[2]',
  },
  'calls whose arguments are an empty text': {
    body: { ...tool(), messages: [say('Go'), calls(['a', 'look', '']), result('a', 'seen')] },
  },
  'instructions alone': {
    body: { messages: [{ role: 'system', content: 'Greet.' }] },
    lost: { messages: 'messages[0].role' },
  },
  'a history that begins with the assistant': {
    body: { messages: [answer('Hello.'), say('Hi')] },
    lost: { messages: 'messages[0]' },
  },
  'an answer to go on with that ends in space': {
    body: { messages: [say('Name a herb.'), answer('A herb: ')] },
    lost: { messages: 'messages[1]' },
  },
  'an answer to go on with, and thinking': {
    body: { messages: [say('Name a herb.'), answer('A herb: ')], reasoning_effort: 'high' },
    lost: { messages: 'messages[1]' },
  },
  'several answers of vendors that give one': {
    body: { ...hi, n: 2 },
    lost: { responses: 'n', messages: 'n' },
  },
  'an unknown effort': {
    body: { ...hi, reasoning_effort: 'utmost' },
    lost: { messages: 'reasoning_effort' },
  },
  'a picture that a model made': {
    body: {
      messages: [
        say('Draw.'),
        {
          ...answer(''),
          images: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } }],
        },
        say('Larger.'),
      ],
    },
    lost: { responses: 'messages[1].images[0]', messages: 'messages[1].images[0]' },
  },
  'an answer in a schema that is left out': {
    body: { ...hi, response_format: { type: 'json_schema', json_schema: { name: 'town' } } },
    lost: { messages: 'response_format' },
  },
  'a schema that is a choice': {
    body: {
      ...hi,
      ...tool({
        anyOf: [{ type: 'object', properties: { town: { type: 'string' } } }, { $ref: '#/$defs/near' }],
        $defs: { near: { type: 'object', properties: { near: { type: 'boolean' } } } },
      }),
    },
    lost: { responses: 'tools[0].function.parameters', messages: 'tools[0].function.parameters' },
  },
  'a schema that is a reference': {
    body: {
      ...hi,
      ...tool({
        $ref: '#/$defs/look',
        $defs: { look: { type: 'object', properties: { town: { type: 'string' } } } },
      }),
    },
  },
  'a schema that may be nothing': {
    body: { ...hi, ...tool({ type: ['object', 'null'], properties: {} }) },
    lost: { responses: 'tools[0].function.parameters', messages: 'tools[0].function.parameters' },
  },
  'a strict schema with words that some do not keep to': {
    body: {
      ...hi,
      ...tool(
        {
          type: 'object',
          properties: { town: { type: 'string', minLength: 2 } },
          required: ['town'],
          additionalProperties: false,
        },
        { strict: true },
      ),
    },
    lost: { messages: 'tools[0].function.parameters', 'generate-content': 'tools[0].function.strict' },
  },
  'an answer in a strict schema that leaves something open': {
    body: {
      ...hi,
      response_format: {
        type: 'json_schema',
        json_schema: {
          name: 'town',
          strict: true,
          schema: { type: 'object', properties: { town: { type: 'string' } } },
        },
      },
    },
    lost: { responses: 'response_format.json_schema.strict', messages: 'response_format.json_schema.schema' },
  },
  'a user of many letters': {
    body: { ...hi, user: 'u'.repeat(300) },
    lost: { messages: 'user', 'generate-content': 'user' },
  },
  'a limit of one': {
    body: { ...hi, max_completion_tokens: 1 },
    lost: { responses: 'max_completion_tokens' },
  },
  'a limit by its former name': {
    body: { ...hi, max_tokens: 1 },
    lost: { responses: 'max_tokens' },
  },
  'an effort by the name that OpenAI does not use': {
    body: { ...hi, reasoning: { effort: 'utmost' } },
    lost: { messages: 'reasoning.effort' },
  },
  'functions by their former name': {
    body: { ...hi, functions: [{ name: 'look', parameters: { type: ['object', 'null'], properties: {} } }] },
    lost: { responses: 'functions[0].parameters', messages: 'functions[0].parameters' },
  },
  'few words wanted': {
    body: { ...hi, verbosity: 'low' },
    lost: { messages: 'verbosity', 'generate-content': 'verbosity' },
  },
  'a user who says nothing at last': {
    body: { messages: [say('Hi'), answer('Hello.'), say('')] },
    lost: { messages: 'messages[2]' },
  },
  'penalties of the most that OpenAI takes': {
    body: { ...hi, frequency_penalty: 2, presence_penalty: 2 },
    lost: { 'generate-content': 'presence_penalty' },
  },
  'a choice among the likeliest none': {
    body: { ...hi, top_k: 0 },
    lost: { 'generate-content': 'top_k' },
  },
  'more answers than any other vendor gives': {
    body: { ...hi, n: 9 },
    lost: 'n',
  },
  'a result with a part that no other wire has': {
    body: {
      ...tool(),
      messages: [
        say('Go'),
        calls(['a', 'look']),
        {
          role: 'tool',
          tool_call_id: 'a',
          content: [
            { type: 'text', text: 'seen' },
            { type: 'hologram', hologram: {} },
          ],
        },
      ],
    },
    lost: 'messages[2].content[1]',
  },
  'a table that is not UTF-8': {
    body: {
      messages: [
        say([
          { type: 'file', file: { file_data: 'data:text/csv;base64,Y2Fm6SwxCg==', filename: 'prices.csv' } },
        ]),
      ],
    },
    lost: { responses: 'messages[0].content[0]', messages: 'messages[0].content[0]' },
  },
  'a picture whose type is not the one it states': {
    body: {
      messages: [
        say([
          { type: 'text', text: 'What?' },
          { type: 'image_url', image_url: { url: `data:image/bmp;base64,${png}` } },
        ]),
      ],
    },
  },
};
