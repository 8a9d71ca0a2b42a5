/**
 * The official SDKs as one kind of client: a conversation is opened, answered, and continued with tool
 * results, whole or through the SDK's own stream helper. An assistant message goes back exactly as its SDK
 * returned it.
 */
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI, type Content, type GenerateContentConfig, type Part } from '@google/genai';
import OpenAI from 'openai';
import type { Wire } from './replaying-vendor.ts';

export type Form = 'whole' | 'streamed';

interface Tool {
  readonly name: string;
  readonly description?: string;
  readonly schema: Record<string, unknown>;
}

interface Heard {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly { readonly name: string; readonly arguments: unknown }[];
}

interface Question {
  readonly text: string;
  readonly system?: string;
  readonly tools?: readonly Tool[];
  /** It asks the model to reason, and to show its reasoning. */
  readonly thinks?: boolean;
}

interface Conversation {
  /** Asks a model to continue from everything said so far. */
  ask(model: string, form: Form): Promise<Heard>;
  /** Answers the calls of the last reply, in their order. */
  answer(results: readonly string[]): void;
  say(text: string): void;
}

export type Client = (question: Question) => Conversation;

function parseJson(text: string): unknown {
  return text ? JSON.parse(text) : {};
}

function createChatClient(sdk: OpenAI): Client {
  return ({ text, system, tools, thinks }) => {
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      ...(system ? [{ role: 'system' as const, content: system }] : []),
      { role: 'user', content: text },
    ];
    const settings = {
      ...(tools
        ? {
            tools: tools.map(({ schema, ...rest }) => ({
              type: 'function' as const,
              function: { ...rest, parameters: schema },
            })),
          }
        : {}),
      ...(thinks ? { reasoning_effort: 'high' as const } : {}),
    };
    let ids: string[] = [];
    return {
      async ask(model, form) {
        const body = { model, messages, ...settings };
        const { choices } =
          form === 'whole'
            ? await sdk.chat.completions.create(body)
            : await sdk.chat.completions.stream(body).finalChatCompletion();
        const message = choices[0]?.message;
        if (!message) throw new Error('the reply has no choice');
        messages.push(message);
        const calls = (message.tool_calls ?? []).flatMap((call) =>
          call.type === 'function'
            ? [{ name: call.function.name, arguments: parseJson(call.function.arguments) }]
            : [],
        );
        ids = (message.tool_calls ?? []).map(({ id }) => id);
        return {
          text: message.content ?? '',
          reasoning: 'reasoning_content' in message ? String(message.reasoning_content) : '',
          calls,
        };
      },
      answer: (results) =>
        void messages.push(
          ...results.map((content, index) => ({
            role: 'tool' as const,
            tool_call_id: ids[index] ?? '',
            content,
          })),
        ),
      say: (content) => void messages.push({ role: 'user', content }),
    };
  };
}

function isItem(value: unknown): value is OpenAI.Responses.ResponseInputItem {
  return typeof value === 'object' && value !== null && 'type' in value;
}

/** An output item without the fields the stream helper adds, which the API would refuse. */
function toInputItem(item: object): OpenAI.Responses.ResponseInputItem {
  const copy: unknown = JSON.parse(
    JSON.stringify(item, (key, value: unknown) =>
      key === 'parsed_arguments' || key === 'parsed' ? undefined : value,
    ),
  );
  if (!isItem(copy)) throw new Error('an output item has no type');
  return copy;
}

function createResponsesClient(sdk: OpenAI): Client {
  return ({ text, system, tools, thinks }) => {
    const input: OpenAI.Responses.ResponseInputItem[] = [{ role: 'user', content: text }];
    const settings = {
      ...(system ? { instructions: system } : {}),
      ...(tools
        ? {
            tools: tools.map(({ schema, ...rest }) => ({
              type: 'function' as const,
              ...rest,
              parameters: schema,
              strict: false,
            })),
          }
        : {}),
      ...(thinks
        ? {
            reasoning: { effort: 'high' as const, summary: 'auto' as const },
            include: ['reasoning.encrypted_content' as const],
            store: false,
          }
        : {}),
    };
    let ids: string[] = [];
    return {
      async ask(model, form) {
        const body = { model, input, ...settings };
        const { output, output_text: said } =
          form === 'whole'
            ? await sdk.responses.create(body)
            : await sdk.responses.stream(body).finalResponse();
        input.push(...output.map(toInputItem));
        const calls = output.flatMap((item) => (item.type === 'function_call' ? [item] : []));
        ids = calls.map(({ call_id: id }) => id);
        const reasoning = output.flatMap((item) =>
          item.type === 'reasoning' ? item.summary.map((part) => part.text) : [],
        );
        return {
          text: said,
          reasoning: reasoning.join(''),
          calls: calls.map(({ name, arguments: args }) => ({ name, arguments: parseJson(args) })),
        };
      },
      answer: (results) =>
        void input.push(
          ...results.map((output, index) => ({
            type: 'function_call_output' as const,
            call_id: ids[index] ?? '',
            output,
          })),
        ),
      say: (content) => void input.push({ role: 'user', content }),
    };
  };
}

function createMessagesClient(sdk: Anthropic): Client {
  return ({ text, system, tools, thinks }) => {
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: text }];
    const settings = {
      max_tokens: 4000,
      ...(system ? { system } : {}),
      ...(tools
        ? {
            tools: tools.map(({ schema, ...rest }) => ({
              ...rest,
              input_schema: { type: 'object' as const, ...schema },
            })),
          }
        : {}),
      ...(thinks ? { thinking: { type: 'adaptive' as const } } : {}),
    };
    let ids: string[] = [];
    return {
      async ask(model, form) {
        const body = { model, messages, ...settings };
        const { content } =
          form === 'whole' ? await sdk.messages.create(body) : await sdk.messages.stream(body).finalMessage();
        messages.push({ role: 'assistant', content });
        const uses = content.flatMap((block) => (block.type === 'tool_use' ? [block] : []));
        ids = uses.map(({ id }) => id);
        return {
          text: content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
          reasoning: content.map((block) => (block.type === 'thinking' ? block.thinking : '')).join(''),
          calls: uses.map(({ name, input }) => ({ name, arguments: input })),
        };
      },
      answer: (results) =>
        void messages.push({
          role: 'user',
          content: results.map((content, index) => ({
            type: 'tool_result' as const,
            tool_use_id: ids[index] ?? '',
            content,
          })),
        }),
      say: (content) => void messages.push({ role: 'user', content }),
    };
  };
}

/** Joins texts of one kind that arrived in pieces, as the SDK's chat does. */
function joinParts(parts: readonly Part[]): Part[] {
  const whole: Part[] = [];
  for (const part of parts) {
    const last = whole.at(-1);
    const plain =
      part.text !== undefined &&
      last?.text !== undefined &&
      part.thought === last.thought &&
      !last.thoughtSignature;
    if (plain) whole[whole.length - 1] = { ...last, ...part, text: `${last.text}${part.text}` };
    else whole.push(part);
  }
  return whole;
}

function createGeminiClient(sdk: GoogleGenAI): Client {
  return ({ text, system, tools, thinks }) => {
    const contents: Content[] = [{ role: 'user', parts: [{ text }] }];
    const config: GenerateContentConfig = {
      ...(system ? { systemInstruction: system } : {}),
      ...(tools
        ? {
            tools: [
              {
                functionDeclarations: tools.map(({ schema, ...rest }) => ({
                  ...rest,
                  parametersJsonSchema: schema,
                })),
              },
            ],
          }
        : {}),
      ...(thinks ? { thinkingConfig: { includeThoughts: true } } : {}),
    };
    let called: { id?: string; name: string }[] = [];
    return {
      async ask(model, form) {
        const request = { model, contents, config };
        const replies =
          form === 'whole'
            ? [await sdk.models.generateContent(request)]
            : await Array.fromAsync(await sdk.models.generateContentStream(request));
        const parts = joinParts(replies.flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? []));
        contents.push({ role: 'model', parts });
        const calls = parts.flatMap(({ functionCall }) => (functionCall ? [functionCall] : []));
        called = calls.map(({ id, name = '' }) => ({ ...(id ? { id } : {}), name }));
        const joinText = (thought: boolean): string =>
          parts.map((part) => (Boolean(part.thought) === thought ? (part.text ?? '') : '')).join('');
        return {
          text: joinText(false),
          reasoning: joinText(true),
          calls: calls.map(({ name = '', args }) => ({ name, arguments: args ?? {} })),
        };
      },
      answer: (results) =>
        void contents.push({
          role: 'user',
          parts: results.map((output, index) => ({
            functionResponse: { ...called[index], response: { output } },
          })),
        }),
      say: (said) => void contents.push({ role: 'user', parts: [{ text: said }] }),
    };
  };
}

type Sdk = new (...options: never[]) => object;

/** The classes of the SDKs. Those of another major version are called in the same way. */
interface Sdks {
  readonly OpenAI: Sdk;
  readonly Anthropic: Sdk;
  readonly GoogleGenAI: Sdk;
}

/** The SDKs with the gateway's base URLs. */
export function createSdkClients(
  url: string,
  key: string,
  sdks: Sdks = { OpenAI, Anthropic, GoogleGenAI },
): Readonly<Record<Wire, Client>> {
  const options = { apiKey: key, maxRetries: 0 };
  const openai: OpenAI = Reflect.construct(sdks.OpenAI, [{ ...options, baseURL: `${url}/v1` }]);
  const anthropic: Anthropic = Reflect.construct(sdks.Anthropic, [{ ...options, baseURL: `${url}/alpha` }]);
  const httpOptions = { baseUrl: `${url}/beta` };
  const google: GoogleGenAI = Reflect.construct(sdks.GoogleGenAI, [{ apiKey: key, httpOptions }]);
  return {
    'chat-completions': createChatClient(openai),
    responses: createResponsesClient(openai),
    messages: createMessagesClient(anthropic),
    'generate-content': createGeminiClient(google),
  };
}
