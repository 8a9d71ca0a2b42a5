/**
 * Requests that are legal on their own wire and that another wire's provider would refuse unchanged. The
 * gateway adapts each and reports the loss, or refuses it by the name of its field. The providers refuse what
 * the real ones do.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kept, said, told } from '../support/continuing.ts';
import { isObject } from '../support/json.ts';
import {
  modelOf,
  openQuartet,
  wires,
  type Crossing,
  type Kind,
  type Quartet,
  type Wire,
} from '../support/quartet.ts';

let quartet: Quartet;
beforeAll(async () => {
  quartet = await openQuartet();
});
afterAll(() => quartet.close());

const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

type Body = Readonly<Record<string, unknown>>;

const say = (content: unknown): Body => ({ role: 'user', content });
const answer = (content: string): Body => ({ role: 'assistant', content });
const calls = (...made: readonly (readonly [id: string, name: string, given?: string])[]): Body => ({
  role: 'assistant',
  content: null,
  tool_calls: made.map(([id, name, given = '{}']) => ({
    id,
    type: 'function',
    function: { name, arguments: given },
  })),
});
const result = (id: string, content: string): Body => ({ role: 'tool', tool_call_id: id, content });
const tool = (parameters?: unknown, more: Body = {}): Body => ({
  tools: [{ type: 'function', function: { name: 'look', parameters, ...more } }],
});
const hi: Body = { messages: [say('Hi')] };
const longId = 'i'.repeat(80);

/** Items only their own provider knows, as a conversation sends them back. */
const everyItem: readonly Body[] = [
  { role: 'user', content: 'Hi' },
  { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'herbs' } },
  { type: 'file_search_call', id: 'fs_1', status: 'completed', queries: ['herbs'], results: null },
  {
    type: 'code_interpreter_call',
    id: 'ci_1',
    status: 'completed',
    code: '1',
    container_id: 'cntr_1',
    outputs: [],
  },
  {
    type: 'local_shell_call',
    id: 'ls_1',
    call_id: 'c1',
    status: 'completed',
    action: { type: 'exec', command: ['ls'], env: {} },
  },
  { type: 'local_shell_call_output', id: 'lo_1', output: 'a' },
  { type: 'mcp_call', id: 'mc_1', server_label: 'a', name: 'b', arguments: '{}', output: 'c' },
  { type: 'compaction', id: 'cm_1', encrypted_content: 'gAAAAABc' },
];

interface Case {
  readonly client: Wire;
  readonly body: Body;
  /** The path reported as lost, by the wire that loses it. */
  readonly lost?: Partial<Readonly<Record<Wire, string>>>;
}

const fitted: Readonly<Record<string, Case>> = {
  'ids of calls that are too long for some': {
    client: 'chat-completions',
    body: { ...tool(), messages: [say('Go'), calls([longId, 'look']), result(longId, 'seen')] },
  },
  'ids that the next step reuses': {
    client: 'chat-completions',
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
    client: 'chat-completions',
    body: {
      ...tool(),
      messages: [say('Go'), calls(['a', 'look']), result('a', 'running'), result('a', 'seen'), say('Well?')],
    },
    lost: { responses: 'messages[2]', messages: 'messages[2]', 'generate-content': 'messages[2]' },
  },
  'calls whose arguments are an empty text': {
    client: 'chat-completions',
    body: { ...tool(), messages: [say('Go'), calls(['a', 'look', '']), result('a', 'seen')] },
  },
  'instructions alone': {
    client: 'chat-completions',
    body: { messages: [{ role: 'system', content: 'Greet.' }] },
    lost: { messages: 'messages[0].role' },
  },
  'a history that begins with the assistant': {
    client: 'chat-completions',
    body: { messages: [answer('Hello.'), say('Hi')] },
    lost: { messages: 'messages[0]' },
  },
  'an answer to go on with that ends in space': {
    client: 'chat-completions',
    body: { messages: [say('Name a herb.'), answer('A herb: ')] },
    lost: { messages: 'messages[1]' },
  },
  'an answer to go on with, and thinking': {
    client: 'chat-completions',
    body: { messages: [say('Name a herb.'), answer('A herb: ')], reasoning_effort: 'high' },
    lost: { messages: 'messages[1]' },
  },
  'several answers of vendors that give one': {
    client: 'chat-completions',
    body: { ...hi, n: 2 },
    lost: { responses: 'n', messages: 'n' },
  },
  'an unknown effort': {
    client: 'chat-completions',
    body: { ...hi, reasoning_effort: 'utmost' },
    lost: { messages: 'reasoning_effort' },
  },
  'a picture that a model made': {
    client: 'chat-completions',
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
  'marks on a call and on its result': {
    client: 'messages',
    body: {
      max_tokens: 100,
      tools: [{ name: 'look', input_schema: { type: 'object' } }],
      messages: [
        say('Go'),
        {
          role: 'assistant',
          content: [
            { type: 'tool_use', id: 'a', name: 'look', input: {}, cache_control: { type: 'ephemeral' } },
          ],
        },
        say([
          { type: 'tool_result', tool_use_id: 'a', content: 'seen', cache_control: { type: 'ephemeral' } },
        ]),
      ],
    },
    lost: {
      'chat-completions': 'messages[1].content[0].cache_control',
      responses: 'messages[1].content[0].cache_control',
      'generate-content': 'messages[2].content[0].cache_control',
    },
  },
  'a shell that the vendor defines': {
    client: 'messages',
    body: {
      ...hi,
      max_tokens: 100,
      tools: [{ type: 'bash_20250124', name: 'bash' }],
      tool_choice: { type: 'tool', name: 'bash' },
    },
    lost: {
      'chat-completions': 'tools[0].type',
      responses: 'tools[0].type',
      'generate-content': 'tools[0].type',
    },
  },
  'a choice of a tool that only one vendor has': {
    client: 'messages',
    body: {
      ...hi,
      max_tokens: 100,
      tools: [
        { name: 'look', input_schema: { type: 'object' } },
        { type: 'computer_20250124', name: 'computer', display_width_px: 800, display_height_px: 600 },
      ],
      tool_choice: { type: 'tool', name: 'computer' },
    },
    lost: { 'chat-completions': 'tool_choice', responses: 'tool_choice', 'generate-content': 'tool_choice' },
  },
  'an answer in a schema that is left out': {
    client: 'chat-completions',
    body: { ...hi, response_format: { type: 'json_schema', json_schema: { name: 'town' } } },
    lost: { messages: 'response_format' },
  },
  'a schema that is a choice': {
    client: 'chat-completions',
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
    client: 'chat-completions',
    body: {
      ...hi,
      ...tool({
        $ref: '#/$defs/look',
        $defs: { look: { type: 'object', properties: { town: { type: 'string' } } } },
      }),
    },
  },
  'a schema that may be nothing': {
    client: 'chat-completions',
    body: { ...hi, ...tool({ type: ['object', 'null'], properties: {} }) },
    lost: { responses: 'tools[0].function.parameters', messages: 'tools[0].function.parameters' },
  },
  'a schema that says nothing': { client: 'chat-completions', body: { ...hi, ...tool({}) } },
  'a strict schema with words that some do not keep to': {
    client: 'chat-completions',
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
  'a strict schema that leaves something open': {
    client: 'messages',
    body: {
      max_tokens: 100,
      ...hi,
      tools: [
        {
          name: 'look',
          strict: true,
          input_schema: {
            type: 'object',
            properties: { town: { type: 'string' } },
            additionalProperties: false,
          },
        },
      ],
    },
    lost: {
      'chat-completions': 'tools[0].strict',
      responses: 'tools[0].strict',
      'generate-content': 'tools[0].strict',
    },
  },
  'an answer in a strict schema that leaves something open': {
    client: 'chat-completions',
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
    client: 'chat-completions',
    body: { ...hi, user: 'u'.repeat(300) },
    lost: { messages: 'user', 'generate-content': 'user' },
  },
  'JSON that no message speaks of': {
    client: 'generate-content',
    body: {
      contents: [{ role: 'user', parts: [{ text: 'Two herbs.' }] }],
      generationConfig: { responseMimeType: 'application/json' },
    },
    lost: {
      'chat-completions': 'generationConfig.responseMimeType',
      responses: 'generationConfig.responseMimeType',
      messages: 'generationConfig.responseMimeType',
    },
  },
  'a limit of nothing': {
    client: 'messages',
    body: { ...hi, max_tokens: 0 },
    lost: { 'chat-completions': 'max_tokens', responses: 'max_tokens', 'generate-content': 'max_tokens' },
  },
  'a limit of one': {
    client: 'chat-completions',
    body: { ...hi, max_completion_tokens: 1 },
    lost: { responses: 'max_completion_tokens' },
  },
  'a limit by its former name': {
    client: 'chat-completions',
    body: { ...hi, max_tokens: 1 },
    lost: { responses: 'max_tokens' },
  },
  'an effort by the name that OpenAI does not use': {
    client: 'chat-completions',
    body: { ...hi, reasoning: { effort: 'utmost' } },
    lost: { messages: 'reasoning.effort' },
  },
  'an effort alone': {
    client: 'messages',
    body: { ...hi, max_tokens: 100, output_config: { effort: 'high' } },
  },
  'functions by their former name': {
    client: 'chat-completions',
    body: { ...hi, functions: [{ name: 'look', parameters: { type: ['object', 'null'], properties: {} } }] },
    lost: { responses: 'functions[0].parameters', messages: 'functions[0].parameters' },
  },
  'items of every kind': {
    client: 'responses',
    body: { input: [...everyItem, { role: 'user', content: 'And then?' }] },
    lost: { 'chat-completions': 'input[1]', messages: 'input[1]', 'generate-content': 'input[1]' },
  },
  'what a message says of itself': {
    client: 'responses',
    body: {
      input: [
        { role: 'user', content: 'Hi' },
        {
          type: 'message',
          id: 'msg_1',
          status: 'completed',
          role: 'assistant',
          phase: 'commentary',
          content: [{ type: 'output_text', text: 'Hello.' }],
        },
        { role: 'user', content: 'Well?' },
      ],
    },
    lost: {
      'chat-completions': 'input[1].phase',
      messages: 'input[1].phase',
      'generate-content': 'input[1].phase',
    },
  },
  'a PDF that does not say it is one': {
    client: 'responses',
    body: {
      input: [
        {
          role: 'user',
          content: [{ type: 'input_file', file_data: 'JVBERi0xLjQKJSBhIGNoYXJ0Cg==', filename: 'a.pdf' }],
        },
      ],
    },
  },
  'a choice of a tool the vendor runs': {
    client: 'responses',
    body: {
      input: 'Hi',
      tools: [
        { type: 'function', name: 'look' },
        { type: 'mcp', server_label: 'a', server_url: 'https://a.example' },
      ],
      tool_choice: { type: 'mcp', server_label: 'a' },
    },
    lost: { 'chat-completions': 'tool_choice', messages: 'tool_choice', 'generate-content': 'tool_choice' },
  },
  'an answer that is a list': {
    client: 'generate-content',
    body: {
      contents: [{ role: 'user', parts: [{ text: 'Two herbs.' }] }],
      generationConfig: {
        responseMimeType: 'application/json',
        responseSchema: { type: 'ARRAY', items: { type: 'STRING' } },
      },
    },
    lost: {
      'chat-completions': 'generationConfig.responseSchema',
      responses: 'generationConfig.responseSchema',
    },
  },
  'calls that keep to their schemas': {
    client: 'generate-content',
    body: {
      contents: [{ parts: [{ text: 'Hi' }] }],
      tools: [{ functionDeclarations: [{ name: 'look' }] }],
      toolConfig: { functionCallingConfig: { mode: 'VALIDATED' } },
    },
    lost: {
      'chat-completions': 'toolConfig.functionCallingConfig.mode',
      responses: 'toolConfig.functionCallingConfig.mode',
      messages: 'toolConfig.functionCallingConfig.mode',
    },
  },
  'a choice among nothing but tools the vendor runs': {
    client: 'responses',
    body: { input: 'Hi', tools: [{ type: 'web_search' }], tool_choice: 'required' },
    lost: { 'chat-completions': 'tool_choice', 'generate-content': 'tool_choice' },
  },
  'few words wanted': {
    client: 'chat-completions',
    body: { ...hi, verbosity: 'low' },
    lost: { messages: 'verbosity', 'generate-content': 'verbosity' },
  },
  'a user who says nothing at last': {
    client: 'chat-completions',
    body: { messages: [say('Hi'), answer('Hello.'), say('')] },
    lost: { messages: 'messages[2]' },
  },
  'a fraction of a token': {
    client: 'generate-content',
    body: { contents: [{ parts: [{ text: 'Hi' }] }], generationConfig: { topK: 3.5 } },
    lost: { messages: 'generationConfig.topK' },
  },
  'thoughts that are left to the model': {
    client: 'generate-content',
    body: {
      contents: [{ parts: [{ text: 'Hi' }] }],
      generationConfig: { thinkingConfig: { thinkingBudget: -1 } },
    },
  },
  'code the model ran before': {
    client: 'generate-content',
    body: {
      contents: [
        { parts: [{ text: 'Add.' }] },
        {
          role: 'model',
          parts: [
            { executableCode: { language: 'PYTHON', code: '1' } },
            { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1' } },
            { text: 'One.' },
          ],
        },
        { role: 'user', parts: [{ text: 'And?' }] },
      ],
    },
    lost: {
      'chat-completions': 'contents[1].parts[0]',
      responses: 'contents[1].parts[0]',
      messages: 'contents[1].parts[0]',
    },
  },
  'a picture whose type is not the one it states': {
    client: 'chat-completions',
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

interface Refusal {
  readonly client: Wire;
  readonly wire: Wire;
  readonly body: Body;
  readonly param: string;
}

const picture = (url: string): Body => ({
  messages: [
    say([
      { type: 'text', text: 'What?' },
      { type: 'image_url', image_url: { url } },
    ]),
  ],
});
const inline = (mimeType: string): Body => ({
  contents: [{ role: 'user', parts: [{ inlineData: { mimeType, data: 'AAAA' } }] }],
});
const address: Body = {
  max_tokens: 100,
  messages: [say([{ type: 'document', source: { type: 'url', url: 'https://files.example/a.pdf' } }])],
};

const refused: Readonly<Record<string, Refusal>> = {
  'a conversation in which nothing is said': {
    client: 'chat-completions',
    wire: 'messages',
    body: { messages: [say(' ')] },
    param: 'messages[0]',
  },
  'arguments of names that are not taken': {
    client: 'chat-completions',
    wire: 'messages',
    body: { ...hi, ...tool({ type: 'object', properties: { 'a b': { type: 'string' } } }) },
    param: 'tools[0]',
  },
  'a picture at an address that is not fetched': {
    client: 'chat-completions',
    wire: 'messages',
    body: picture('http://pictures.example/a.png'),
    param: 'messages[0].content[1]',
  },
  'a drawing': {
    client: 'chat-completions',
    wire: 'responses',
    body: picture('data:image/svg+xml,%3Csvg/%3E'),
    param: 'messages[0].content[1]',
  },
  'a picture of a kind only Google looks at': {
    client: 'generate-content',
    wire: 'chat-completions',
    body: inline('image/heic'),
    param: 'contents[0].parts[0]',
  },
  'the same on responses': {
    client: 'generate-content',
    wire: 'responses',
    body: inline('image/heic'),
    param: 'contents[0].parts[0]',
  },
  'sound of a kind that is not taken': {
    client: 'generate-content',
    wire: 'chat-completions',
    body: inline('audio/flac'),
    param: 'contents[0].parts[0]',
  },
  'a picture alone, of a model that writes': {
    client: 'generate-content',
    wire: 'responses',
    body: { contents: [{ parts: [{ text: 'Draw.' }] }], generationConfig: { responseModalities: ['IMAGE'] } },
    param: 'generationConfig.responseModalities',
  },
  'grounding in maps': {
    client: 'generate-content',
    wire: 'messages',
    body: { contents: [{ parts: [{ text: 'Where?' }] }], tools: [{ googleMaps: {} }] },
    param: 'tools[0].googleMaps',
  },
  'a search of files that OpenAI keeps': {
    client: 'responses',
    wire: 'generate-content',
    body: { input: 'Hi', tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] },
    param: 'tools[0]',
  },
  'a file of no known kind': {
    client: 'responses',
    wire: 'generate-content',
    body: { input: [{ role: 'user', content: [{ type: 'input_file', file_data: 'AAAA' }] }] },
    param: 'input[0].content[0]',
  },
  'a conversation of nothing but empty texts': {
    client: 'chat-completions',
    wire: 'generate-content',
    body: { messages: [say('')] },
    param: 'messages[0]',
  },
  'a document by its address': {
    client: 'messages',
    wire: 'chat-completions',
    body: address,
    param: 'messages[0].content[0]',
  },
};

function droppedOf({ headers }: Crossing): string[] {
  return headers.get('x-tollgate-dropped')?.split(',') ?? [];
}

describe.each(Object.entries(fitted))('%s', (_, { client, body, lost = {} }) => {
  const kinds: readonly Kind[] = ['plain', 'thinking'];
  const targets = wires.filter((wire) => wire !== client);

  it.each(targets)('on %s', async (wire) => {
    for (const kind of kinds) {
      const { id } = modelOf(wire, kind);
      const crossed = await quartet.ask(client, id, body);
      expect(crossed.status, `${id}: ${crossed.text}`).toBe(200);
      const told = lost[wire];
      if (told !== undefined) expect(droppedOf(crossed), id).toContain(told);
    }
  });
});

describe('a request that cannot be adapted', () => {
  it.each(Object.entries(refused))('%s', async (_, { client, wire, body, param }) => {
    const crossed = await quartet.ask(client, modelOf(wire).id, body);
    expect(crossed.status, crossed.text).toBe(400);
    expect(crossed.sent).toBeUndefined();
    expect(crossed.end).toMatchObject({ error: { details: { param } } });
  });
});

function messagesOf(body: unknown): readonly unknown[] {
  return typeof body === 'object' && body && 'messages' in body && Array.isArray(body.messages)
    ? body.messages
    : [];
}

describe('a step whose calls reuse the ids of an earlier step', () => {
  const tools = ['look', 'hear'].map((name) => ({ type: 'function', function: { name } }));
  const first = [
    say('Go'),
    calls(['call_0', 'look'], ['call_1', 'hear']),
    result('call_1', 'b'),
    result('call_0', 'a'),
  ];
  const second = [...first, calls(['call_0', 'hear']), result('call_0', 'c')];
  const sent = async (wire: Wire, messages: readonly Body[]): Promise<unknown> =>
    (await quartet.ask('chat-completions', modelOf(wire).id, { tools, messages })).sent;

  it('keeps each result with its call, and leaves earlier messages unchanged', async () => {
    const messages = messagesOf(await sent('messages', second));
    expect(messages.at(-1)).toMatchObject({ content: [{ tool_use_id: 'call_0_2', content: 'c' }] });
    expect(messages.slice(0, 3)).toEqual(messagesOf(await sent('messages', first)));
  });

  it('answers the function that was called where a provider pairs calls by name', async () => {
    expect(JSON.stringify(await sent('generate-content', second))).toMatch(
      /"name":"hear","response":\{"output":"c"\}/,
    );
  });
});

describe('a call without arguments', () => {
  it.each([
    ['chat-completions', 'responses'],
    ['responses', 'chat-completions'],
  ] as const)('of a %s provider reaches a %s client as JSON', async (wire, client) => {
    const { id, upstream } = modelOf(wire);
    quartet.vendors[wire].script(upstream, { toolCalls: [{ name: 'look', arguments: '' }] });
    for (const stream of [false, true]) {
      const { text } = await quartet.ask(client, id, client === 'responses' ? { input: 'Go' } : hi, stream);
      expect(text).toContain('"arguments":"{}"');
    }
    quartet.vendors[wire].unscript();
  });
});

describe.each(['', ' \n'])('a reply of nothing but "%s"', (text) => {
  it.each(wires)('can be sent back by a client of %s to every vendor', async (client) => {
    const { id, upstream } = modelOf('chat-completions');
    const limit = client === 'messages' ? { max_tokens: 100 } : {};
    quartet.vendors['chat-completions'].script(upstream, { text });
    const reply: unknown = JSON.parse(
      (await quartet.ask(client, id, { ...limit, ...told(client, [said(client, 'Hi')]) })).text,
    );
    quartet.vendors['chat-completions'].unscript();
    const history = [
      said(client, 'Hi'),
      ...(isObject(reply) ? kept(client, reply) : []),
      said(client, 'Well?'),
    ];
    for (const wire of wires) {
      const crossed = await quartet.ask(client, modelOf(wire).id, { ...limit, ...told(client, history) });
      expect(crossed.status, `${wire}: ${crossed.text}`).toBe(200);
    }
  });
});
