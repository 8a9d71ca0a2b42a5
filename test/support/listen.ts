/**
 * A reply as a client of each protocol puts it together, whole or from a stream, without any code of the
 * gateway: the JSON body the stream amounts to, and its text.
 */
import { createParser } from 'eventsource-parser';
import { isObject, type Json } from './json.ts';
import type { Wire } from './replaying-vendor.ts';

export function readObjects(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function readText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The parsed data of a stream's events; anything that is not JSON is left out. */
export function readData(stream: string): Json[] {
  const events: Json[] = [];
  const parser = createParser({
    onEvent: ({ data }) => {
      const value: unknown = data.startsWith('{') ? JSON.parse(data) : undefined;
      if (isObject(value)) events.push(value);
    },
  });
  parser.feed(stream);
  return events;
}

/** One object grown by a delta: texts are joined, lists are merged by the `index` of their members. */
function grow(whole: Json, delta: Json): Json {
  for (const [name, value] of Object.entries(delta)) {
    const old = whole[name];
    if (
      typeof old === 'string' &&
      typeof value === 'string' &&
      !['id', 'type', 'role', 'name'].includes(name)
    )
      whole[name] = old + value;
    else if (isObject(old) && isObject(value)) grow(old, value);
    else if (Array.isArray(value)) whole[name] = growList(Array.isArray(old) ? old : [], value);
    else if (value !== null || old === undefined) whole[name] = value;
  }
  return whole;
}

function growList(list: unknown[], added: readonly unknown[]): unknown[] {
  for (const value of added) {
    const index = isObject(value) ? value.index : undefined;
    const known =
      typeof index === 'number' ? list.find((each) => isObject(each) && each.index === index) : undefined;
    if (isObject(known) && isObject(value)) grow(known, value);
    else list.push(isObject(value) ? structuredClone(value) : value);
  }
  return list;
}

function joinChat(events: readonly Json[]): Json {
  const choices = new Map<unknown, Json>();
  const whole: Json = {};
  for (const { choices: body, ...rest } of events) {
    Object.assign(whole, rest);
    for (const { index, delta, finish_reason: reason, logprobs } of readObjects(body)) {
      const choice = choices.get(index) ?? { index, message: {}, finish_reason: null };
      choices.set(index, choice);
      if (isObject(delta) && isObject(choice.message)) grow(choice.message, delta);
      if (isObject(logprobs))
        choice.logprobs = grow(isObject(choice.logprobs) ? choice.logprobs : {}, logprobs);
      if (reason) choice.finish_reason = reason;
    }
  }
  // The index of a call in a stream is not part of the whole message.
  for (const { message } of choices.values())
    if (isObject(message)) for (const call of readObjects(message.tool_calls)) delete call.index;
  return { ...whole, choices: [...choices.values()] };
}

function joinMessage(events: readonly Json[]): Json {
  let message: Json = {};
  const blocks = new Map<unknown, Json>();
  const inputs = new Map<unknown, string>();
  for (const { type, index, message: started, content_block: opened, delta, usage } of events) {
    if (type === 'message_start' && isObject(started)) message = { ...started };
    if (type === 'content_block_start' && isObject(opened)) blocks.set(index, structuredClone(opened));
    const block = blocks.get(index);
    if (type === 'content_block_delta' && block && isObject(delta)) {
      const { type: kind, partial_json: json, citation, ...said } = delta;
      if (kind === 'input_json_delta') inputs.set(index, (inputs.get(index) ?? '') + readText(json));
      else if (kind === 'citations_delta') block.citations = [...readObjects(block.citations), citation];
      else grow(block, said);
    }
    if (type === 'message_delta' && isObject(delta))
      message = {
        ...message,
        ...delta,
        usage: { ...(isObject(message.usage) ? message.usage : {}), ...(isObject(usage) ? usage : {}) },
      };
  }
  for (const [index, json] of inputs) {
    const block = blocks.get(index);
    if (block) block.input = JSON.parse(json || '{}');
  }
  return { ...message, content: [...blocks.values()] };
}

/** Adds a part of a chunk: a text that continues the previous one is joined to it. */
function joinPart(parts: readonly Json[], part: Json): Json[] {
  const last = parts.at(-1);
  const goesOn =
    typeof last?.text === 'string' &&
    typeof part.text === 'string' &&
    last.thought === part.thought &&
    last.thoughtSignature === undefined;
  return goesOn
    ? [...parts.slice(0, -1), { ...last, ...part, text: readText(last.text) + readText(part.text) }]
    : [...parts, part];
}

function joinGeneration(events: readonly Json[]): Json {
  const whole: Json = {};
  const candidates = new Map<unknown, Json>();
  for (const { candidates: body, ...rest } of events) {
    Object.assign(whole, rest);
    for (const { index = 0, content, ...others } of readObjects(body)) {
      const candidate = candidates.get(index) ?? { index, content: { role: 'model', parts: [] } };
      candidates.set(index, candidate);
      const parts = isObject(content) ? readObjects(content.parts) : [];
      if (isObject(candidate.content))
        candidate.content.parts = parts.reduce(joinPart, readObjects(candidate.content.parts));
      Object.assign(candidate, others);
    }
  }
  return candidates.size > 0 ? { ...whole, candidates: [...candidates.values()] } : whole;
}

/** The body a stream amounts to. */
export function joinStream(client: Wire, stream: string): Json {
  const events = readData(stream);
  if (client === 'chat-completions') return joinChat(events);
  if (client === 'messages') return joinMessage(events);
  if (client === 'generate-content') return joinGeneration(events);
  const last = events.findLast(({ type }) =>
    /^response\.(completed|incomplete|failed)$/.test(readText(type)),
  );
  return isObject(last?.response) ? last.response : {};
}

export interface SaidCall {
  readonly id: unknown;
  readonly name: unknown;
  /** Parsed arguments, or the text of a custom tool's input. */
  readonly input: unknown;
}

/** The content of a reply's first candidate. */
export interface Heard {
  readonly text: string;
  readonly reasoning: string;
  readonly refusal: string;
  readonly calls: readonly SaidCall[];
  /** Why it ended, in the protocol's own word. */
  readonly reason: unknown;
}

function parseInput(json: unknown): unknown {
  return JSON.parse(readText(json) || '{}');
}

function hearChat({ choices }: Json): Heard {
  const [{ message, finish_reason: reason } = {}] = readObjects(choices);
  const said = isObject(message) ? message : {};
  const calls = readObjects(said.tool_calls).map(({ id, function: called, custom }) => {
    if (isObject(custom)) return { id, name: custom.name, input: custom.input };
    return {
      id,
      name: isObject(called) ? called.name : undefined,
      input: parseInput(isObject(called) ? called.arguments : ''),
    };
  });
  return {
    text: readText(said.content),
    reasoning: readText(said.reasoning_content ?? said.reasoning),
    refusal: readText(said.refusal),
    calls,
    reason,
  };
}

function hearResponse({ output, status, incomplete_details: details }: Json): Heard {
  const items = readObjects(output);
  const parts = items.flatMap((item) => (item.type === 'message' ? readObjects(item.content) : []));
  const join = (list: readonly Json[], type: string, field: string): string =>
    list.map((each) => (each.type === type ? readText(each[field]) : '')).join('');
  const calls = items.flatMap(({ type, call_id: id, name, arguments: json, input }) => {
    if (type === 'function_call') return [{ id, name, input: parseInput(json) }];
    return type === 'custom_tool_call' ? [{ id, name, input }] : [];
  });
  const summaries = items.flatMap((item) =>
    item.type === 'reasoning' ? [...readObjects(item.summary), ...readObjects(item.content)] : [],
  );
  return {
    text: join(parts, 'output_text', 'text'),
    reasoning: summaries.map((part) => readText(part.text)).join(''),
    refusal: join(parts, 'refusal', 'refusal'),
    calls,
    reason: isObject(details) ? details.reason : status,
  };
}

function hearMessage({ content, stop_reason: reason }: Json): Heard {
  const blocks = readObjects(content);
  const join = (type: string, field: string): string =>
    blocks.map((block) => (block.type === type ? readText(block[field]) : '')).join('');
  const calls = blocks.flatMap(({ type, id, name, input }) =>
    type === 'tool_use' ? [{ id, name, input }] : [],
  );
  return { text: join('text', 'text'), reasoning: join('thinking', 'thinking'), refusal: '', calls, reason };
}

function hearGeneration({ candidates }: Json): Heard {
  const [{ content, finishReason: reason } = {}] = readObjects(candidates);
  const parts = isObject(content) ? readObjects(content.parts) : [];
  const join = (thought: boolean): string =>
    parts.map((part) => (Boolean(part.thought) === thought ? readText(part.text) : '')).join('');
  const calls = parts.flatMap(({ functionCall: call }) =>
    isObject(call) ? [{ id: call.id, name: call.name, input: call.args ?? {} }] : [],
  );
  return { text: join(false), reasoning: join(true), refusal: '', calls, reason };
}

const listeners: Readonly<Record<Wire, (reply: Json) => Heard>> = {
  'chat-completions': hearChat,
  responses: hearResponse,
  messages: hearMessage,
  'generate-content': hearGeneration,
};

export function hear(client: Wire, reply: Json): Heard {
  return listeners[client](reply);
}
