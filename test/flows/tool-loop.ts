/** Loops that call a tool until the model answers, by the SDK of each protocol. */
import type Anthropic from '@anthropic-ai/sdk';
import { type Content } from '@google/genai';
import type OpenAI from 'openai';
import type { ResponseInputItem } from 'openai/resources/responses/responses';

export const harbours = ['Hull', 'Whitby', 'Oslo'];

export const parameters = {
  type: 'object' as const,
  properties: { harbour: { type: 'string' as const } },
  required: ['harbour'],
  additionalProperties: false,
};

export const description = 'When the tide turns.';

/** What a client asked for with each call, and the answer it received in the end. */
interface Loop {
  readonly asked: readonly unknown[];
  readonly answer: string;
}

export type Run = (model: string) => Promise<Loop>;

/** A body for an SDK whose types are of another version. */
export function toPlain(body: object): ReturnType<typeof JSON.parse> {
  return JSON.parse(JSON.stringify(body));
}

export function answerTide(input: unknown): string {
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

export function createChatLoop(
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

export function createResponsesLoop(
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

export function createMessagesLoop(
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

export function createGenerateLoop(run: (body: GenerateParameters) => Promise<readonly Content[]>): Run {
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
