/**
 * What a reply says, read from its own wire by hand: these readers share no code with the gateway, so that
 * they notice what its decoders and encoders lose together.
 */
import { createParser } from 'eventsource-parser';
import type { Wire } from '../support/families.ts';
import { isObject, type Json } from '../support/json.ts';

const valueFields = ['stringValue', 'numberValue', 'boolValue', 'nullValue'];

function putAt(root: Json, path: string, value: unknown): void {
  const steps = [...path.matchAll(/[^.[\]$'"]+/g)].map(([step]) => step);
  const last = steps.pop();
  if (last === undefined) return;
  let place: Json = root;
  for (const [index, step] of steps.entries()) {
    const next = index + 1 < steps.length ? steps[index + 1] : last;
    place[step] ??= /^\d+$/.test(next ?? '') ? [] : {};
    // An array is an object whose names are numbers.
    place = Object(place[step]);
  }
  const before = place[last];
  place[last] = typeof before === 'string' && typeof value === 'string' ? before + value : value;
}

/**
 * Google's function calls in pieces: a name with `willContinue`, then `partialArgs` that each name a place by
 * its JSON path.
 */
class PartialArguments {
  #open = false;

  /** Adds a call, or more of the one that is still open. */
  take(call: Json, calls: Heard['calls']): void {
    const last = calls.at(-1);
    const { name, args } = call;
    if (!this.#open || !last || typeof name === 'string')
      calls.push({ name: String(name), arguments: isObject(args) ? args : {} });
    const known = calls.at(-1)?.arguments;
    for (const piece of Array.isArray(call.partialArgs) ? call.partialArgs : []) {
      const field = valueFields.find((each) => isObject(piece) && each in piece);
      if (isObject(known) && field !== undefined)
        putAt(known, String(piece.jsonPath), field === 'nullValue' ? null : piece[field]);
    }
    this.#open = call.willContinue === true;
  }
}

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

export const toObject = (value: unknown): Json => (isObject(value) ? value : {});
const toObjects = (value: unknown): Json[] => (Array.isArray(value) ? value.map(toObject) : []);
export const toText = (value: unknown): string => (typeof value === 'string' ? value : '');
const toCount = (value: unknown): number => (typeof value === 'number' ? value : 0);

export function parseOrKeep(text: string): unknown {
  try {
    return text.trim() === '' ? {} : (JSON.parse(text) ?? {});
  } catch {
    return text;
  }
}

/** The JSON of each event of a stream, or the one JSON of a whole reply. */
export function readMessages(text: string, streamed: boolean): Json[] {
  if (!streamed) return [toObject(parseOrKeep(text))];
  const messages: Json[] = [];
  const parser = createParser({
    onEvent: ({ data }) => void (data.startsWith('{') && messages.push(toObject(parseOrKeep(data)))),
  });
  parser.feed(text);
  parser.reset({ consume: true });
  return messages;
}

function noteFinish(reasons: Readonly<Record<string, Finish>>, raw: unknown, heard: Heard): void {
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
  heard.input = toCount(usage.prompt_tokens);
  heard.output = Math.max(toCount(usage.completion_tokens), toCount(usage.total_tokens) - heard.input);
}

function hearChat(messages: readonly Json[], heard: Heard): void {
  const texts = new Map<number, string>();
  for (const message of messages) {
    if (isObject(message.error)) heard.error = true;
    const usage = message.usage;
    if (isObject(usage)) hearChatUsage(usage, heard);
    const [choice] = toObjects(message.choices).filter(({ index }) => (index ?? 0) === 0);
    if (!choice) continue;
    const said = toObject(choice.message ?? choice.delta);
    heard.text += toText(said.content) + toText(said.refusal);
    heard.reasoning += toText(said.reasoning_content ?? said.reasoning);
    heard.images += toObjects(said.images).length;
    for (const [at, call] of toObjects(said.tool_calls).entries()) {
      const index = typeof call.index === 'number' ? call.index : at;
      const { name, arguments: args } = toObject(call.function);
      if (!texts.has(index)) heard.calls[index] = { name: '', arguments: {} };
      texts.set(index, (texts.get(index) ?? '') + toText(args));
      const known = heard.calls[index];
      if (known)
        [known.name, known.arguments] = [known.name + toText(name), parseOrKeep(texts.get(index) ?? '')];
    }
    noteFinish(chatReasons, choice.finish_reason, heard);
  }
}

function hearItem(item: Json, heard: Heard, streamed: boolean): void {
  if (item.type === 'function_call')
    heard.calls.push({ name: toText(item.name), arguments: parseOrKeep(toText(item.arguments)) });
  if (item.type === 'image_generation_call' && item.result) heard.images += 1;
  if (streamed) return;
  if (item.type === 'message')
    for (const part of toObjects(item.content)) heard.text += toText(part.text) + toText(part.refusal);
  if (item.type === 'reasoning')
    for (const part of toObjects(item.summary)) heard.reasoning += toText(part.text);
}

function hearEndOfResponse(response: Json, heard: Heard): void {
  const usage = response.usage;
  if (isObject(usage))
    [heard.input, heard.output] = [toCount(usage.input_tokens), toCount(usage.output_tokens)];
  if (response.status === 'completed') heard.finish = heard.calls.length > 0 ? 'tool' : 'stop';
  if (response.status === 'incomplete')
    heard.finish = toObject(response.incomplete_details).reason === 'content_filter' ? 'filter' : 'length';
  if (response.status === 'failed') heard.error = true;
}

function hearResponses(messages: readonly Json[], heard: Heard, streamed: boolean): void {
  for (const message of messages) {
    if (!streamed) {
      for (const item of toObjects(message.output)) hearItem(item, heard, false);
      hearEndOfResponse(message, heard);
      if (isObject(message.error)) heard.error = true;
    }
    const { type } = message;
    if (type === 'response.output_text.delta' || type === 'response.refusal.delta')
      heard.text += toText(message.delta);
    if (type === 'response.reasoning_summary_text.delta') heard.reasoning += toText(message.delta);
    if (type === 'response.output_item.done') hearItem(toObject(message.item), heard, true);
    if (type === 'error') heard.error = true;
    if (/^response\.(completed|incomplete|failed)$/.test(toText(type)))
      hearEndOfResponse(toObject(message.response), heard);
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
    heard.text += toText(block.text);
    heard.reasoning += toText(block.thinking);
    if (block.type !== 'tool_use') return;
    inputs.set(index, '');
    heard.calls.push({ name: toText(block.name), arguments: block.input });
  };
  for (const message of messages) {
    if (message.type === 'error') heard.error = true;
    const whole = message.type === 'message' ? message : toObject(message.message);
    for (const [index, block] of toObjects(whole.content).entries()) hearBlock(block, index);
    usage = { ...usage, ...toObject(whole.usage), ...toObject(message.usage) };
    if (message.type === 'content_block_start')
      hearBlock(toObject(message.content_block), toCount(message.index));
    const delta = toObject(message.delta);
    heard.text += toText(delta.text);
    heard.reasoning += toText(delta.thinking);
    const args = inputs.get(toCount(message.index));
    const call = heard.calls.at(-1);
    if (args !== undefined && call && delta.type === 'input_json_delta') {
      inputs.set(toCount(message.index), args + toText(delta.partial_json));
      call.arguments = parseOrKeep(args + toText(delta.partial_json));
    }
    noteFinish(stopReasons, whole.stop_reason ?? delta.stop_reason, heard);
  }
  if (typeof usage.input_tokens === 'number')
    heard.input =
      usage.input_tokens +
      toCount(usage.cache_read_input_tokens) +
      toCount(usage.cache_creation_input_tokens);
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
    const usage = toObject(message.usageMetadata);
    if (typeof usage.promptTokenCount === 'number')
      heard.input = usage.promptTokenCount + toCount(usage.toolUsePromptTokenCount);
    const output = toCount(usage.candidatesTokenCount) + toCount(usage.thoughtsTokenCount);
    if (output > 0 || heard.input !== undefined) heard.output = Math.max(output, 0);
    if (toObject(message.promptFeedback).blockReason !== undefined) heard.finish = 'filter';
    const [candidate] = toObjects(message.candidates);
    for (const part of toObjects(toObject(candidate?.content).parts)) {
      heard[part.thought === true ? 'reasoning' : 'text'] += toText(part.text);
      if (toText(toObject(part.inlineData).mimeType).startsWith('image/')) heard.images += 1;
      if (isObject(part.functionCall)) partial.take(part.functionCall, heard.calls);
    }
    noteFinish(finishReasons, candidate?.finishReason, heard);
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
  const messages = readMessages(text, streamed);
  if (wire === 'chat-completions') hearChat(messages, heard);
  else if (wire === 'responses') hearResponses(messages, heard, streamed);
  else if (wire === 'messages') hearMessages(messages, heard);
  else hearGenerateContent(messages, heard);
  return heard;
}
