/**
 * A tool loop by the streaming helper of each official SDK, this major version and the previous one, on every
 * wire: three calls side by side, their results in one turn, and the answer.
 */
import Anthropic from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import { type Content, GoogleGenAI } from '@google/genai';
import AnthropicBefore from 'anthropic-sdk-0';
import { GoogleGenAI as GoogleGenAIBefore } from 'google-genai-2';
import OpenAI from 'openai';
import OpenAIBefore from 'openai-6';
import type { ResponseInputItem } from 'openai/resources/responses/responses';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { getModel, openFourWires, wires, type FourWires, type Wire } from '../support/four-wires.ts';

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
function toPlain(body: object): ReturnType<typeof JSON.parse> {
  return JSON.parse(JSON.stringify(body));
}

function answerTide(input: unknown): string {
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

function createChatLoop(
  run: (body: ChatParameters) => Promise<OpenAI.Chat.ChatCompletionMessage | undefined>,
): Run {
  return async (model) => {
    const tools = [{ type: 'function' as const, function: { name: 'tide_at', description, parameters } }];
    const messages: OpenAI.Chat.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Tides?' }];
    const message = await run({ model, messages, tools });
    const calls = message?.tool_calls?.flatMap((call) => (call.type === 'function' ? [call] : [])) ?? [];
    const requests = calls.map(({ function: { arguments: text } }): unknown => JSON.parse(text));
    const results = calls.map(({ id }, index) => ({
      role: 'tool' as const,
      tool_call_id: id,
      content: answerTide(requests[index]),
    }));
    const second = await run({
      model,
      tools,
      messages: [...messages, ...(message ? [message] : []), ...results],
    });
    return { asked: requests, answer: second?.content ?? '' };
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
function omitParsed(output: readonly object[]): ResponseInputItem[] {
  return JSON.parse(
    JSON.stringify(output, (key, value: unknown) => (key.startsWith('parsed') ? undefined : value)),
  );
}

function createResponsesLoop(
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
    const output = omitParsed((await run({ ...body, input })).output);
    const calls = output.flatMap((item) => (item.type === 'function_call' ? [item] : []));
    const requests = calls.map(({ arguments: text }): unknown => JSON.parse(text));
    const results = calls.map(({ call_id: id }, index): ResponseInputItem => ({
      type: 'function_call_output',
      call_id: id,
      output: answerTide(requests[index]),
    }));
    const second = await run({ ...body, input: [...input, ...output, ...results] });
    return { asked: requests, answer: second.output_text };
  };
}

interface MessagesParameters {
  model: string;
  max_tokens: number;
  messages: Anthropic.MessageParam[];
  tools: { name: string; description: string; input_schema: typeof parameters }[];
}

function createMessagesLoop(
  run: (body: MessagesParameters) => Promise<readonly Anthropic.ContentBlock[]>,
): Run {
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
      content: answerTide(input),
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

function createGenerateLoop(run: (body: GenerateParameters) => Promise<readonly Content[]>): Run {
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
        response: { output: answerTide(call.args) },
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

let harness: FourWires;
beforeAll(async () => {
  harness = await openFourWires();
});
afterAll(() => harness.close());

async function collectContents(
  stream: AsyncIterable<{ readonly candidates?: readonly { readonly content?: Content }[] }>,
): Promise<Content[]> {
  const chunks = await Array.fromAsync(stream);
  return chunks.flatMap(({ candidates = [] }) =>
    candidates.flatMap(({ content }) => (content ? [content] : [])),
  );
}

const buildOpenAiOptions = () => ({
  apiKey: harness.key,
  baseURL: `${harness.gateway.url}/v1`,
  maxRetries: 0,
});
const buildAnthropicOptions = () => ({
  apiKey: harness.key,
  baseURL: `${harness.gateway.url}/alpha`,
  maxRetries: 0,
});
const buildGoogleOptions = () => ({
  apiKey: harness.key,
  httpOptions: { baseUrl: `${harness.gateway.url}/beta` },
});

const helpers: readonly (readonly [name: string, client: Wire, run: () => Run])[] = [
  [
    'openai 7, chat.completions.stream',
    'chat-completions',
    () =>
      createChatLoop(
        async (body) =>
          (await new OpenAI(buildOpenAiOptions()).chat.completions.stream(body).finalChatCompletion())
            .choices[0]?.message,
      ),
  ],
  [
    'openai 6, chat.completions.stream',
    'chat-completions',
    () =>
      createChatLoop(
        async (body) =>
          (
            await new OpenAIBefore(buildOpenAiOptions()).chat.completions
              .stream(toPlain(body))
              .finalChatCompletion()
          ).choices[0]?.message,
      ),
  ],
  [
    'openai 7, responses.stream',
    'responses',
    () =>
      createResponsesLoop((body) => new OpenAI(buildOpenAiOptions()).responses.stream(body).finalResponse()),
  ],
  [
    'openai 6, responses.stream',
    'responses',
    () =>
      createResponsesLoop((body) =>
        new OpenAIBefore(buildOpenAiOptions()).responses.stream(toPlain(body)).finalResponse(),
      ),
  ],
  [
    '@anthropic-ai/sdk 1, messages.stream',
    'messages',
    () =>
      createMessagesLoop(
        async (body) =>
          (await new Anthropic(buildAnthropicOptions()).messages.stream(body).finalMessage()).content,
      ),
  ],
  [
    '@anthropic-ai/sdk 0, messages.stream',
    'messages',
    () =>
      createMessagesLoop(
        async (body) =>
          (await new AnthropicBefore(buildAnthropicOptions()).messages.stream(body).finalMessage()).content,
      ),
  ],
  [
    '@google/genai 3, generateContentStream',
    'generate-content',
    () =>
      createGenerateLoop(async (body) =>
        collectContents(await new GoogleGenAI(buildGoogleOptions()).models.generateContentStream(body)),
      ),
  ],
  [
    '@google/genai 2, generateContentStream',
    'generate-content',
    () =>
      createGenerateLoop(async (body) =>
        collectContents(await new GoogleGenAIBefore(buildGoogleOptions()).models.generateContentStream(body)),
      ),
  ],
];

function scriptLoop(wire: Wire): void {
  for (const kind of ['plain', 'thinking'] as const) {
    harness.vendors[wire].script(
      getModel(wire, kind).upstream,
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
        const before = harness.gateway.ends.length;
        const { asked: received, answer } = await run()(getModel(wire, kind).id);
        expect(received).toEqual(harbours.map((harbour) => ({ harbour })));
        expect(answer).toBe('All at noon.');
        const ends = (await harness.gateway.ended(before + 2)).slice(before);
        expect(
          ends.map((end) => end.type === 'answered' && [end.outcome, end.exchange.family, end.charge.basis]),
        ).toEqual([
          ['completed', client, 'usage'],
          ['completed', client, 'usage'],
        ]);
        const sent = harness.vendors[wire].requests.at(-1)?.body.toString() ?? '';
        for (const harbour of harbours) expect(sent).toContain(`noon ({\\"harbour\\":\\"${harbour}\\"})`);
      },
    );
  });
});

describe.each(wires)('@anthropic-ai/sdk 1, beta.messages.toolRunner on %s', (wire) => {
  beforeEach(() => scriptLoop(wire));

  it.each(['plain', 'thinking'] as const)(
    'learns that the gateway stores no conversation, and sends all of it, to a %s model',
    async (kind) => {
      const received: unknown[] = [];
      const run = (input: unknown): string => {
        received.push(input);
        return answerTide(input);
      };
      const tools = [betaTool({ name: 'tide_at', description, inputSchema: parameters, run })];
      const message = await new Anthropic(buildAnthropicOptions()).beta.messages.toolRunner({
        model: getModel(wire, kind).id,
        max_tokens: 2000,
        tools,
        messages: [{ role: 'user', content: 'Tides?' }],
      });
      expect(received).toEqual(harbours.map((harbour) => ({ harbour })));
      expect(message.content.map((block) => (block.type === 'text' ? block.text : '')).join('')).toBe(
        'All at noon.',
      );
      const sent = harness.vendors[wire].requests.at(-1)?.body.toString() ?? '';
      for (const said of ['Tides?', ...harbours]) expect(sent).toContain(said);
    },
  );
});
