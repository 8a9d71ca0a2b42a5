/** Replies as a person reads them: text, reasoning, tool calls and pictures, streamed or whole. */

type Json = Readonly<Record<string, unknown>>;

export interface Said {
  text: string;
  reasoning: string;
  /** Calls of tools: name and arguments as text. */
  readonly tools: { name: string; args: string }[];
  /** Data URLs. */
  readonly images: string[];
}

export function nothingSaid(): Said {
  return { text: '', reasoning: '', tools: [], images: [] };
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function list(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function object(value: unknown): Json {
  return isObject(value) ? value : {};
}

function text(value: unknown): string {
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
  for (const choice of list(data.choices)) {
    const part = object(choice.delta ?? choice.message);
    said.text += text(part.content) + text(part.refusal);
    said.reasoning += text(part.reasoning_content) || text(part.reasoning);
    for (const { function: called } of list(part.tool_calls)) {
      const { name, arguments: args } = object(called);
      if (text(name) !== '') startTool(said, text(name), text(args));
      else growTool(said, text(args));
    }
    for (const { image_url: image } of list(part.images)) said.images.push(text(object(image).url));
  }
}

function readOutputItem(said: Said, item: Json, isWhole: boolean): void {
  if (item.type === 'function_call') startTool(said, text(item.name), text(item.arguments));
  if (item.type === 'image_generation_call') said.images.push(`data:image/png;base64,${text(item.result)}`);
  if (!isWhole) return;
  for (const part of list(item.content)) said.text += text(part.text) + text(part.refusal);
  for (const part of list(item.summary)) said.reasoning += text(part.text);
}

function readResponses(said: Said, data: Json): void {
  if (data.object === 'response') for (const item of list(data.output)) readOutputItem(said, item, true);
  if (data.type === 'response.output_text.delta' || data.type === 'response.refusal.delta')
    said.text += text(data.delta);
  if (data.type === 'response.reasoning_summary_text.delta') said.reasoning += text(data.delta);
  if (data.type === 'response.output_item.done') readOutputItem(said, object(data.item), false);
}

function readBlock(said: Said, block: Json): void {
  said.text += text(block.text);
  said.reasoning += text(block.thinking);
  if (block.type !== 'tool_use') return;
  const isEmpty = Object.keys(object(block.input)).length === 0;
  startTool(said, text(block.name), isEmpty ? '' : JSON.stringify(block.input));
}

function readMessages(said: Said, data: Json): void {
  for (const block of list(data.content)) readBlock(said, block);
  if (data.type === 'content_block_start') readBlock(said, object(data.content_block));
  if (data.type !== 'content_block_delta') return;
  const delta = object(data.delta);
  said.text += text(delta.text);
  said.reasoning += text(delta.thinking);
  if (delta.type === 'input_json_delta') growTool(said, text(delta.partial_json));
}

function readGenerateContent(said: Said, data: Json): void {
  for (const candidate of list(data.candidates)) {
    for (const part of list(object(candidate.content).parts)) {
      if (part.thought === true) said.reasoning += text(part.text);
      else said.text += text(part.text);
      const { name, args } = object(part.functionCall);
      if (text(name) !== '') startTool(said, text(name), JSON.stringify(args ?? {}));
      const { mimeType, data: bytes } = object(part.inlineData);
      if (text(bytes) !== '') said.images.push(`data:${text(mimeType)};base64,${text(bytes)}`);
    }
  }
}

function readImages(said: Said, data: Json): void {
  const type = `image/${text(data.output_format) || 'png'}`;
  for (const picture of list(data.data))
    said.images.push(text(picture.url) || `data:${type};base64,${text(picture.b64_json)}`);
  if (text(data.b64_json) === '') return;
  // Each partial picture replaces the one before.
  said.images.splice(0, 1, `data:${type};base64,${text(data.b64_json)}`);
}

const readers: Readonly<Record<string, (said: Said, data: Json) => void>> = {
  'chat-completions': readChat,
  responses: readResponses,
  messages: readMessages,
  'generate-content': readGenerateContent,
  images: readImages,
};

/** Adds an event of a stream, or a whole reply. */
export function hear(protocol: string, said: Said, data: unknown): void {
  if (isObject(data)) readers[protocol]?.(said, data);
}

/** Why a reply is an error, in the words of any protocol. */
export function errorIn(data: unknown): string | undefined {
  const { error } = object(data);
  return isObject(error) ? text(error.message) || JSON.stringify(error) : undefined;
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
