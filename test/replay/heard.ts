/**
 * What a reply says, read from its own wire by hand: these readers share no code with the gateway, so that
 * they notice what its decoders and encoders lose together.
 */
import { createParser } from 'eventsource-parser';
import type { Wire } from '../support/families.ts';
import { isObject, type Json } from '../support/json.ts';
import { PartialArguments } from './partial-arguments.ts';

type Finish = 'stop' | 'tool' | 'length' | 'filter' | 'paused' | 'error';

export interface Heard {
  text: string;
  reasoning: string;
  readonly calls: { name: string; arguments: unknown }[];
  images: number;
  input: number | undefined;
  output: number | undefined;
  finish: Finish | undefined;
  /** Whether the reply contains an error. */
  error: boolean;
}

export const objectIn = (value: unknown): Json => (isObject(value) ? value : {});
const listIn = (value: unknown): Json[] => (Array.isArray(value) ? value.map(objectIn) : []);
export const textIn = (value: unknown): string => (typeof value === 'string' ? value : '');
const countIn = (value: unknown): number => (typeof value === 'number' ? value : 0);

export function parsedOr(text: string): unknown {
  try {
    return text.trim() === '' ? {} : (JSON.parse(text) ?? {});
  } catch {
    return text;
  }
}

/** The JSON of each event of a stream, or the one JSON of a whole reply. */
export function messagesOf(text: string, streamed: boolean): Json[] {
  if (!streamed) return [objectIn(parsedOr(text))];
  const messages: Json[] = [];
  const parser = createParser({
    onEvent: ({ data }) => void (data.startsWith('{') && messages.push(objectIn(parsedOr(data)))),
  });
  parser.feed(text);
  parser.reset({ consume: true });
  return messages;
}

function finishOf(reasons: Readonly<Record<string, Finish>>, raw: unknown, heard: Heard): void {
  if (typeof raw !== 'string') return;
  const finish = reasons[raw] ?? 'error';
  heard.finish = finish === 'stop' && heard.calls.length > 0 ? 'tool' : finish;
}

const chatReasons: Record<string, Finish> = {
  stop: 'stop',
  tool_calls: 'tool',
  function_call: 'tool',
  length: 'length',
  content_filter: 'filter',
};

/** Google's address for this wire counts thoughts in the total alone. */
function hearChatUsage(usage: Json, heard: Heard): void {
  heard.input = countIn(usage.prompt_tokens);
  heard.output = Math.max(countIn(usage.completion_tokens), countIn(usage.total_tokens) - heard.input);
}

function hearChat(messages: readonly Json[], heard: Heard): void {
  const texts = new Map<number, string>();
  for (const message of messages) {
    if (isObject(message.error)) heard.error = true;
    const usage = message.usage;
    if (isObject(usage)) hearChatUsage(usage, heard);
    const [choice] = listIn(message.choices).filter(({ index }) => (index ?? 0) === 0);
    if (!choice) continue;
    const said = objectIn(choice.message ?? choice.delta);
    heard.text += textIn(said.content) + textIn(said.refusal);
    heard.reasoning += textIn(said.reasoning_content ?? said.reasoning);
    heard.images += listIn(said.images).length;
    for (const [at, call] of listIn(said.tool_calls).entries()) {
      const index = typeof call.index === 'number' ? call.index : at;
      const { name, arguments: args } = objectIn(call.function);
      if (!texts.has(index)) heard.calls[index] = { name: '', arguments: {} };
      texts.set(index, (texts.get(index) ?? '') + textIn(args));
      const known = heard.calls[index];
      if (known)
        [known.name, known.arguments] = [known.name + textIn(name), parsedOr(texts.get(index) ?? '')];
    }
    finishOf(chatReasons, choice.finish_reason, heard);
  }
}

function hearItem(item: Json, heard: Heard, streamed: boolean): void {
  if (item.type === 'function_call')
    heard.calls.push({ name: textIn(item.name), arguments: parsedOr(textIn(item.arguments)) });
  if (item.type === 'image_generation_call' && item.result) heard.images += 1;
  if (streamed) return;
  if (item.type === 'message')
    for (const part of listIn(item.content)) heard.text += textIn(part.text) + textIn(part.refusal);
  if (item.type === 'reasoning')
    for (const part of listIn(item.summary)) heard.reasoning += textIn(part.text);
}

function hearEndOfResponse(response: Json, heard: Heard): void {
  const usage = response.usage;
  if (isObject(usage))
    [heard.input, heard.output] = [countIn(usage.input_tokens), countIn(usage.output_tokens)];
  if (response.status === 'completed') heard.finish = heard.calls.length > 0 ? 'tool' : 'stop';
  if (response.status === 'incomplete')
    heard.finish = objectIn(response.incomplete_details).reason === 'content_filter' ? 'filter' : 'length';
  if (response.status === 'failed') heard.error = true;
}

function hearResponses(messages: readonly Json[], heard: Heard, streamed: boolean): void {
  for (const message of messages) {
    if (!streamed) {
      for (const item of listIn(message.output)) hearItem(item, heard, false);
      hearEndOfResponse(message, heard);
      if (isObject(message.error)) heard.error = true;
    }
    const { type } = message;
    if (type === 'response.output_text.delta' || type === 'response.refusal.delta')
      heard.text += textIn(message.delta);
    if (type === 'response.reasoning_summary_text.delta') heard.reasoning += textIn(message.delta);
    if (type === 'response.output_item.done') hearItem(objectIn(message.item), heard, true);
    if (type === 'error') heard.error = true;
    if (/^response\.(completed|incomplete|failed)$/.test(textIn(type)))
      hearEndOfResponse(objectIn(message.response), heard);
  }
}

const stopReasons: Record<string, Finish> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  tool_use: 'tool',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'filter',
  pause_turn: 'paused',
};

function hearMessages(messages: readonly Json[], heard: Heard): void {
  const inputs = new Map<number, string>();
  let usage: Json = {};
  const hearBlock = (block: Json, index: number): void => {
    heard.text += textIn(block.text);
    heard.reasoning += textIn(block.thinking);
    if (block.type !== 'tool_use') return;
    inputs.set(index, '');
    heard.calls.push({ name: textIn(block.name), arguments: block.input });
  };
  for (const message of messages) {
    if (message.type === 'error') heard.error = true;
    const whole = message.type === 'message' ? message : objectIn(message.message);
    for (const [index, block] of listIn(whole.content).entries()) hearBlock(block, index);
    usage = { ...usage, ...objectIn(whole.usage), ...objectIn(message.usage) };
    if (message.type === 'content_block_start')
      hearBlock(objectIn(message.content_block), countIn(message.index));
    const delta = objectIn(message.delta);
    heard.text += textIn(delta.text);
    heard.reasoning += textIn(delta.thinking);
    const args = inputs.get(countIn(message.index));
    const call = heard.calls.at(-1);
    if (args !== undefined && call && delta.type === 'input_json_delta') {
      inputs.set(countIn(message.index), args + textIn(delta.partial_json));
      call.arguments = parsedOr(args + textIn(delta.partial_json));
    }
    finishOf(stopReasons, whole.stop_reason ?? delta.stop_reason, heard);
  }
  if (typeof usage.input_tokens === 'number')
    heard.input =
      usage.input_tokens +
      countIn(usage.cache_read_input_tokens) +
      countIn(usage.cache_creation_input_tokens);
  if (typeof usage.output_tokens === 'number') heard.output = usage.output_tokens;
}

const finishReasons: Record<string, Finish> = {
  STOP: 'stop',
  MAX_TOKENS: 'length',
  SAFETY: 'filter',
  RECITATION: 'filter',
  BLOCKLIST: 'filter',
  PROHIBITED_CONTENT: 'filter',
  SPII: 'filter',
  IMAGE_SAFETY: 'filter',
};

function hearGenerateContent(messages: readonly Json[], heard: Heard): void {
  const partial = new PartialArguments();
  for (const message of messages) {
    if (isObject(message.error)) heard.error = true;
    const usage = objectIn(message.usageMetadata);
    if (typeof usage.promptTokenCount === 'number')
      heard.input = usage.promptTokenCount + countIn(usage.toolUsePromptTokenCount);
    const output = countIn(usage.candidatesTokenCount) + countIn(usage.thoughtsTokenCount);
    if (output > 0 || heard.input !== undefined) heard.output = Math.max(output, 0);
    if (objectIn(message.promptFeedback).blockReason !== undefined) heard.finish = 'filter';
    const [candidate] = listIn(message.candidates);
    for (const part of listIn(objectIn(candidate?.content).parts)) {
      heard[part.thought === true ? 'reasoning' : 'text'] += textIn(part.text);
      if (textIn(objectIn(part.inlineData).mimeType).startsWith('image/')) heard.images += 1;
      if (isObject(part.functionCall)) partial.take(part.functionCall, heard.calls);
    }
    finishOf(finishReasons, candidate?.finishReason, heard);
  }
}

export function hear(wire: Wire, text: string, streamed: boolean): Heard {
  const heard: Heard = {
    text: '',
    reasoning: '',
    calls: [],
    images: 0,
    input: undefined,
    output: undefined,
    finish: undefined,
    error: false,
  };
  const messages = messagesOf(text, streamed);
  if (wire === 'chat-completions') hearChat(messages, heard);
  else if (wire === 'responses') hearResponses(messages, heard, streamed);
  else if (wire === 'messages') hearMessages(messages, heard);
  else hearGenerateContent(messages, heard);
  return heard;
}
