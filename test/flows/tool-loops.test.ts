/**
 * A tool loop by the streaming helper of each official SDK, this major version and the previous one, on every
 * wire: three calls side by side, their results in one turn, and the answer.
 */
import Anthropic from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import { GoogleGenAI, type Content } from '@google/genai';
import AnthropicBefore from 'anthropic-sdk-0';
import { GoogleGenAI as GoogleGenAIBefore } from 'google-genai-2';
import OpenAI from 'openai';
import OpenAIBefore from 'openai-6';
import type { ResponseInputItem } from 'openai/resources/responses/responses';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { modelOf, openQuartet, wires, type Quartet, type Wire } from '../support/quartet.ts';

let quartet: Quartet;
beforeAll(async () => {
  quartet = await openQuartet();
});
afterAll(() => quartet.close());

const harbours = ['Hull', 'Whitby', 'Oslo'];
const parameters = {
  type: 'object' as const,
  properties: { harbour: { type: 'string' as const } },
  required: ['harbour'],
  additionalProperties: false,
};
const description = 'When the tide turns.';

/** What a client asked for with each call, and the answer it received in the end. */
interface Loop {
  readonly asked: readonly unknown[];
  readonly answer: string;
}

type Run = (model: string) => Promise<Loop>;

/** A body for an SDK whose types are of another version. */
function plain(body: object): ReturnType<typeof JSON.parse> {
  return JSON.parse(JSON.stringify(body));
}

function tideAt(input: unknown): string {
  return JSON.stringify(input) === undefined ? '' : `noon (${JSON.stringify(input)})`;
}

interface ChatParameters {
  model: string;
  messages: OpenAI.Chat.ChatCompletionMessageParam[];
  tools: {
    type: 'function';
    function: { name: string; description: string; parameters: typeof parameters };
  }[];
}

function chatLoop(
  run: (body: ChatParameters) => Promise<OpenAI.Chat.ChatCompletionMessage | undefined>,
): Run {
  return async (model) => {
    const tools = [{ type: 'function' as const, function: { name: 'tide_at', description, parameters } }];
    const messages: OpenAI.Chat.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Tides?' }];
    const message = await run({ model, messages, tools });
    const calls = message?.tool_calls?.flatMap((call) => (call.type === 'function' ? [call] : [])) ?? [];
    const asked = calls.map(({ function: { arguments: text } }): unknown => JSON.parse(text));
    const results = calls.map(({ id }, index) => ({
      role: 'tool' as const,
      tool_call_id: id,
      content: tideAt(asked[index]),
    }));
    const second = await run({
      model,
      tools,
      messages: [...messages, ...(message ? [message] : []), ...results],
    });
    return { asked, answer: second?.content ?? '' };
  };
}

interface ResponsesParameters {
  model: string;
  store: boolean;
  include: 'reasoning.encrypted_content'[];
  input: ResponseInputItem[];
  tools: {
    type: 'function';
    name: string;
    description: string;
    parameters: typeof parameters;
    strict: boolean;
  }[];
}

/** Items as they are sent back: without what the helper added for its own users. */
function sentBack(output: readonly object[]): ResponseInputItem[] {
  return JSON.parse(
    JSON.stringify(output, (key, value: unknown) => (key.startsWith('parsed') ? undefined : value)),
  );
}

function responsesLoop(
  run: (
    body: ResponsesParameters,
  ) => Promise<{ readonly output: readonly object[]; readonly output_text: string }>,
): Run {
  return async (model) => {
    // A model that does not reason refuses a request for its reasoning.
    const include = model.endsWith('thinking') ? ['reasoning.encrypted_content' as const] : [];
    const body = {
      model,
      store: false,
      include,
      tools: [{ type: 'function' as const, name: 'tide_at', description, parameters, strict: true }],
    };
    const input: ResponseInputItem[] = [{ role: 'user', content: 'Tides?' }];
    const output = sentBack((await run({ ...body, input })).output);
    const calls = output.flatMap((item) => (item.type === 'function_call' ? [item] : []));
    const asked = calls.map(({ arguments: text }): unknown => JSON.parse(text));
    const results = calls.map(({ call_id: id }, index): ResponseInputItem => ({
      type: 'function_call_output',
      call_id: id,
      output: tideAt(asked[index]),
    }));
    const second = await run({ ...body, input: [...input, ...output, ...results] });
    return { asked, answer: second.output_text };
  };
}

interface MessagesParameters {
  model: string;
  max_tokens: number;
  messages: Anthropic.MessageParam[];
  tools: { name: string; description: string; input_schema: typeof parameters }[];
}

function messagesLoop(run: (body: MessagesParameters) => Promise<readonly Anthropic.ContentBlock[]>): Run {
  return async (model) => {
    const body = {
      model,
      max_tokens: 2000,
      tools: [{ name: 'tide_at', description, input_schema: parameters }],
    };
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'Tides?' }];
    const content = await run({ ...body, messages });
    const calls = content.flatMap((block) => (block.type === 'tool_use' ? [block] : []));
    const results = calls.map(({ id, input }) => ({
      type: 'tool_result' as const,
      tool_use_id: id,
      content: tideAt(input),
    }));
    const second = await run({
      ...body,
      messages: [
        ...messages,
        { role: 'assistant', content: [...content] },
        { role: 'user', content: results },
      ],
    });
    return {
      asked: calls.map(({ input }) => input),
      answer: second.map((block) => (block.type === 'text' ? block.text : '')).join(''),
    };
  };
}

interface GenerateParameters {
  model: string;
  contents: Content[];
  config: {
    tools: {
      functionDeclarations: { name: string; description: string; parametersJsonSchema: typeof parameters }[];
    }[];
  };
}

function generateLoop(run: (body: GenerateParameters) => Promise<readonly Content[]>): Run {
  return async (model) => {
    const body = {
      model,
      config: {
        tools: [
          { functionDeclarations: [{ name: 'tide_at', description, parametersJsonSchema: parameters }] },
        ],
      },
    };
    const contents: Content[] = [{ role: 'user', parts: [{ text: 'Tides?' }] }];
    const chunks = await run({ ...body, contents });
    // Every part as received, in one turn: signatures stay on their parts.
    const parts = chunks
      .flatMap((content) => content.parts ?? [])
      .filter((part) => part.text !== '' || part.thoughtSignature);
    const calls = parts.flatMap(({ functionCall }) => (functionCall ? [functionCall] : []));
    const results = calls.map((call) => ({
      functionResponse: {
        ...(call.id ? { id: call.id } : {}),
        name: call.name ?? '',
        response: { output: tideAt(call.args) },
      },
    }));
    const second = await run({
      ...body,
      contents: [...contents, { role: 'model', parts }, { role: 'user', parts: results }],
    });
    return {
      asked: calls.map(({ args }) => args),
      answer: second
        .flatMap((content) => content.parts ?? [])
        .map((part) => (part.thought ? '' : (part.text ?? '')))
        .join(''),
    };
  };
}

async function contentsOf(
  stream: AsyncIterable<{ readonly candidates?: readonly { readonly content?: Content }[] }>,
): Promise<Content[]> {
  const chunks = await Array.fromAsync(stream);
  return chunks.flatMap(({ candidates = [] }) =>
    candidates.flatMap(({ content }) => (content ? [content] : [])),
  );
}

const openAiAt = () => ({ apiKey: quartet.key, baseURL: `${quartet.gateway.url}/v1`, maxRetries: 0 });
const anthropicAt = () => ({ apiKey: quartet.key, baseURL: `${quartet.gateway.url}/alpha`, maxRetries: 0 });
const googleAt = () => ({ apiKey: quartet.key, httpOptions: { baseUrl: `${quartet.gateway.url}/beta` } });

const helpers: readonly (readonly [name: string, client: Wire, run: () => Run])[] = [
  [
    'openai 7, chat.completions.stream',
    'chat-completions',
    () =>
      chatLoop(
        async (body) =>
          (await new OpenAI(openAiAt()).chat.completions.stream(body).finalChatCompletion()).choices[0]
            ?.message,
      ),
  ],
  [
    'openai 6, chat.completions.stream',
    'chat-completions',
    () =>
      chatLoop(
        async (body) =>
          (await new OpenAIBefore(openAiAt()).chat.completions.stream(plain(body)).finalChatCompletion())
            .choices[0]?.message,
      ),
  ],
  [
    'openai 7, responses.stream',
    'responses',
    () => responsesLoop((body) => new OpenAI(openAiAt()).responses.stream(body).finalResponse()),
  ],
  [
    'openai 6, responses.stream',
    'responses',
    () => responsesLoop((body) => new OpenAIBefore(openAiAt()).responses.stream(plain(body)).finalResponse()),
  ],
  [
    '@anthropic-ai/sdk 1, messages.stream',
    'messages',
    () =>
      messagesLoop(
        async (body) => (await new Anthropic(anthropicAt()).messages.stream(body).finalMessage()).content,
      ),
  ],
  [
    '@anthropic-ai/sdk 0, messages.stream',
    'messages',
    () =>
      messagesLoop(
        async (body) =>
          (await new AnthropicBefore(anthropicAt()).messages.stream(body).finalMessage()).content,
      ),
  ],
  [
    '@google/genai 3, generateContentStream',
    'generate-content',
    () =>
      generateLoop(async (body) =>
        contentsOf(await new GoogleGenAI(googleAt()).models.generateContentStream(body)),
      ),
  ],
  [
    '@google/genai 2, generateContentStream',
    'generate-content',
    () =>
      generateLoop(async (body) =>
        contentsOf(await new GoogleGenAIBefore(googleAt()).models.generateContentStream(body)),
      ),
  ],
];

function scriptLoop(wire: Wire): void {
  for (const kind of ['plain', 'thinking'] as const) {
    quartet.vendors[wire].script(
      modelOf(wire, kind).upstream,
      {
        text: 'I look. ',
        interleaved: true,
        toolCalls: harbours.map((harbour) => ({
          name: 'tide_at',
          arguments: ['{"harbour"', ':"', harbour, '"}'],
        })),
      },
      { text: ['All ', 'at ', 'noon.'] },
    );
  }
}

describe.each(helpers)('%s', (_, client, run) => {
  describe.each(wires)('on %s', (wire) => {
    beforeEach(() => scriptLoop(wire));

    it.each(['plain', 'thinking'] as const)(
      'delivers three calls at once and their results to and from a %s model',
      async (kind) => {
        const before = quartet.gateway.ends.length;
        const { asked, answer } = await run()(modelOf(wire, kind).id);
        expect(asked).toEqual(harbours.map((harbour) => ({ harbour })));
        expect(answer).toBe('All at noon.');
        const ends = (await quartet.gateway.ended(before + 2)).slice(before);
        expect(
          ends.map((end) => end.type === 'answered' && [end.outcome, end.exchange.family, end.charge.basis]),
        ).toEqual([
          ['completed', client, 'usage'],
          ['completed', client, 'usage'],
        ]);
        const sent = quartet.vendors[wire].requests.at(-1)?.body.toString() ?? '';
        for (const harbour of harbours) expect(sent).toContain(`noon ({\\"harbour\\":\\"${harbour}\\"})`);
      },
    );
  });
});

describe('@anthropic-ai/sdk 1, beta.messages.toolRunner', () => {
  describe.each(wires)('on %s', (wire) => {
    beforeEach(() => scriptLoop(wire));

    it.each(['plain', 'thinking'] as const)(
      'learns that the gateway stores no conversation, and sends all of it, to a %s model',
      async (kind) => {
        const asked: unknown[] = [];
        const run = (input: unknown): string => {
          asked.push(input);
          return tideAt(input);
        };
        const tools = [betaTool({ name: 'tide_at', description, inputSchema: parameters, run })];
        const message = await new Anthropic(anthropicAt()).beta.messages.toolRunner({
          model: modelOf(wire, kind).id,
          max_tokens: 2000,
          tools,
          messages: [{ role: 'user', content: 'Tides?' }],
        });
        expect(asked).toEqual(harbours.map((harbour) => ({ harbour })));
        expect(message.content.map((block) => (block.type === 'text' ? block.text : '')).join('')).toBe(
          'All at noon.',
        );
        const sent = quartet.vendors[wire].requests.at(-1)?.body.toString() ?? '';
        for (const said of ['Tides?', ...harbours]) expect(sent).toContain(said);
      },
    );
  });
});
