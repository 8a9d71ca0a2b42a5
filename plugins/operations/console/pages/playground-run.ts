/** One call of the playground: sent with the key, read as it comes, and its exact cost afterwards. */
import { formatThings } from './format.ts';
import { getMessage, signal, type Signal } from './kit.ts';
import { parseJson } from './marked-json.ts';
import type { Built } from './playground-requests.ts';

type Json = Readonly<Record<string, unknown>>;

interface Said {
  text: string;
  reasoning: string;
  /** Calls of tools: name and arguments as text. */
  readonly tools: { name: string; args: string }[];
  /** Data URLs. */
  readonly images: string[];
  /** The reply itself, if it is no conversation. */
  json: string;
}

function createSaid(): Said {
  return { text: '', reasoning: '', tools: [], images: [], json: '' };
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function readList(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function readObject(value: unknown): Json {
  return isObject(value) ? value : {};
}

function readText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function startTool(said: Said, name: string, args = ''): void {
  said.tools.push({ name, args });
}

function growTool(said: Said, args: string): void {
  const last = said.tools.at(-1);
  if (last) last.args += args;
}

function readChat(said: Said, data: Json): void {
  for (const choice of readList(data.choices)) {
    const part = readObject(choice.delta ?? choice.message);
    said.text += readText(part.content) + readText(part.refusal) + readText(choice.text);
    said.reasoning += readText(part.reasoning_content) || readText(part.reasoning);
    for (const { function: called } of readList(part.tool_calls)) {
      const { name, arguments: args } = readObject(called);
      if (readText(name) !== '') startTool(said, readText(name), readText(args));
      else growTool(said, readText(args));
    }
    for (const { image_url: image } of readList(part.images))
      said.images.push(readText(readObject(image).url));
  }
}

function readOutputItem(said: Said, item: Json, isWhole: boolean): void {
  if (item.type === 'function_call') startTool(said, readText(item.name), readText(item.arguments));
  if (item.type === 'image_generation_call')
    said.images.push(`data:image/png;base64,${readText(item.result)}`);
  if (!isWhole) return;
  for (const part of readList(item.content)) said.text += readText(part.text) + readText(part.refusal);
  for (const part of readList(item.summary)) said.reasoning += readText(part.text);
}

function readResponses(said: Said, data: Json): void {
  if (data.object === 'response') for (const item of readList(data.output)) readOutputItem(said, item, true);
  if (data.type === 'response.output_text.delta' || data.type === 'response.refusal.delta')
    said.text += readText(data.delta);
  if (data.type === 'response.reasoning_summary_text.delta') said.reasoning += readText(data.delta);
  if (data.type === 'response.output_item.done') readOutputItem(said, readObject(data.item), false);
}

function readBlock(said: Said, block: Json): void {
  said.text += readText(block.text);
  said.reasoning += readText(block.thinking);
  if (block.type !== 'tool_use') return;
  const isEmpty = Object.keys(readObject(block.input)).length === 0;
  startTool(said, readText(block.name), isEmpty ? '' : JSON.stringify(block.input));
}

function readMessages(said: Said, data: Json): void {
  for (const block of readList(data.content)) readBlock(said, block);
  if (data.type === 'content_block_start') readBlock(said, readObject(data.content_block));
  if (data.type !== 'content_block_delta') return;
  const delta = readObject(data.delta);
  said.text += readText(delta.text);
  said.reasoning += readText(delta.thinking);
  if (delta.type === 'input_json_delta') growTool(said, readText(delta.partial_json));
}

function readGenerateContent(said: Said, data: Json): void {
  for (const candidate of readList(data.candidates)) {
    for (const part of readList(readObject(candidate.content).parts)) {
      if (part.thought === true) said.reasoning += readText(part.text);
      else said.text += readText(part.text);
      const { name, args } = readObject(part.functionCall);
      if (readText(name) !== '') startTool(said, readText(name), JSON.stringify(args ?? {}));
      const { mimeType, data: bytes } = readObject(part.inlineData);
      if (readText(bytes) !== '') said.images.push(`data:${readText(mimeType)};base64,${readText(bytes)}`);
    }
  }
}

function readImages(said: Said, data: Json): void {
  const type = `image/${readText(data.output_format) || 'png'}`;
  for (const picture of readList(data.data))
    said.images.push(readText(picture.url) || `data:${type};base64,${readText(picture.b64_json)}`);
  if (readText(data.b64_json) === '') return;
  // Each partial picture replaces the one before.
  said.images.splice(0, 1, `data:${type};base64,${readText(data.b64_json)}`);
}

const readers: Readonly<Record<string, (said: Said, data: Json) => void>> = {
  'chat-completions': readChat,
  responses: readResponses,
  messages: readMessages,
  'generate-content': readGenerateContent,
  images: readImages,
};

const mostNumbers = 8;
const shownNumbers = 4;

/** Shows the beginning of each vector: it has thousands of numbers. */
function shortenVectors(_name: string, value: unknown): unknown {
  if (!Array.isArray(value) || value.length <= mostNumbers) return value;
  if (!value.every((each) => typeof each === 'number')) return value;
  return `${value.slice(0, shownNumbers).join(', ')}, … (${formatThings(value.length, 'number')})`;
}

/** A reply of a protocol that has no words here: a text in choices, or anything. */
function readOther(said: Said, data: Json): void {
  if (Array.isArray(data.choices)) readChat(said, data);
  else if (!('error' in data)) said.json = JSON.stringify(data, shortenVectors);
}

/** Adds an event of a stream, or a whole reply. */
function hear(protocol: string, said: Said, data: unknown): void {
  if (isObject(data)) (readers[protocol] ?? readOther)(said, data);
}

/** Why a reply is an error, in the words of any protocol. */
function readError(data: unknown): string | undefined {
  const { error, message } = readObject(data);
  if (isObject(error)) return readText(error.message) || JSON.stringify(error);
  // Cohere's.
  return readText(message) || undefined;
}

/** The events of a stream, as they come. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  for (let step = await reader.read(); !step.done; step = await reader.read()) {
    rest += decoder.decode(step.value, { stream: true }).replaceAll('\r', '');
    const blocks = rest.split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const data = block
        .split('\n')
        .flatMap((line) => (line.startsWith('data:') ? [line.slice(5).trimStart()] : []))
        .join('\n');
      if (data !== '') yield data;
    }
  }
}

export interface Run {
  readonly said: Said;
  readonly events: readonly string[];
  readonly headers: readonly (readonly [string, string])[];
  readonly status?: number;
  readonly error?: string;
  /** Milliseconds to the first event, and to the end. */
  readonly first?: number;
  readonly took?: number;
  readonly id?: string | undefined;
  /** Exact, once the ledger has it. */
  readonly cost?: string | undefined;
}

/** Raw events that are kept. A long stream has many thousands. */
const mostEvents = 2000;

const shownHeaders = /^(x-|retry-after|content-type|anthropic-ratelimit)/;

interface StoredCall {
  readonly cost?: string;
  readonly outcome?: string;
}

/** Where calls are sent, and how a finished one is found. */
export interface CallPlace {
  /** What comes before the path of a call. */
  readonly base: string;
  find(id: string): Promise<StoredCall>;
}

/** The ledger has the entry at the latest a moment after the reply. */
async function findCost(id: string, { find }: CallPlace): Promise<string | undefined> {
  for (let tries = 0; tries < 8; tries += 1) {
    const call = await find(id).catch(() => undefined);
    if (call?.cost !== undefined && call.outcome !== 'running') return call.cost;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  return undefined;
}

/** Browsers say little of a connection that is lost: `Failed to fetch`. */
function explainFailure(error: unknown, { status }: Run): string {
  if (!(error instanceof TypeError)) return getMessage(error);
  return status === undefined
    ? 'Cannot reach the gateway. Is it running?'
    : 'The connection to the gateway was lost in the middle of the reply.';
}

function readHead({ status, headers }: Response): Pick<Run, 'status' | 'id' | 'headers'> {
  return {
    status,
    id: headers.get('x-request-id') ?? undefined,
    headers: [...headers].filter(([name]) => shownHeaders.test(name)),
  };
}

/** The events of a stream, or the whole reply at once. */
async function* readTexts(response: Response): AsyncGenerator<string> {
  const isStream = response.headers.get('content-type')?.includes('text/event-stream') ?? false;
  if (isStream && response.body) yield* readEvents(response.body);
  else yield await response.text();
}

export interface Running {
  readonly run: Signal<Run>;
  stop(): void;
  /** Resolves when the call is over and its cost known, if it can be. */
  readonly done: Promise<Run>;
}

export function startRun(
  protocol: string,
  { path, headers, body }: Built,
  key: string,
  at: CallPlace,
): Running {
  const run = signal<Run>({ said: createSaid(), events: [], headers: [] });
  const stopping = new AbortController();
  const began = performance.now();
  const change = (more: Partial<Run>): void => {
    run.value = { ...run.value, ...more };
  };
  const said = createSaid();
  const events: string[] = [];
  let isDrawing = false;
  const draw = (): void => {
    // At most once a frame: a fast stream has hundreds of events a second.
    if (isDrawing) return;
    isDrawing = true;
    requestAnimationFrame(() => {
      isDrawing = false;
      change({ said: { ...said }, events: [...events] });
    });
  };
  const take = (data: string): void => {
    if (events.length < mostEvents) events.push(data);
    const value = parseJson(data);
    hear(protocol, said, value);
    const error = readError(value);
    if (error !== undefined) change({ error });
    if (run.value.first === undefined) change({ first: performance.now() - began });
    draw();
  };
  async function send(): Promise<void> {
    const response = await fetch(at.base + path, {
      method: 'POST',
      // The cookie does not authorize calls. The key pays.
      credentials: 'omit',
      headers: { ...headers, 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify(body),
      signal: stopping.signal,
    });
    change(readHead(response));
    for await (const data of readTexts(response)) take(data);
  }
  async function finish(): Promise<Run> {
    try {
      await send();
    } catch (error) {
      const reason = stopping.signal.aborted ? 'You stopped the call.' : explainFailure(error, run.value);
      change({ error: reason });
    }
    change({ said: { ...said }, events: [...events], took: performance.now() - began });
    const { id } = run.value;
    if (id !== undefined) change({ cost: await findCost(id, at) });
    return run.value;
  }
  return { run, stop: () => stopping.abort(), done: finish() };
}
