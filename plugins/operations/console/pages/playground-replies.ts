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

export function createSaid(): Said {
  return { text: '', reasoning: '', tools: [], images: [] };
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
    said.text += readText(part.content) + readText(part.refusal);
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

/** Adds an event of a stream, or a whole reply. */
export function hear(protocol: string, said: Said, data: unknown): void {
  if (isObject(data)) readers[protocol]?.(said, data);
}

/** Why a reply is an error, in the words of any protocol. */
export function readError(data: unknown): string | undefined {
  const { error } = readObject(data);
  return isObject(error) ? readText(error.message) || JSON.stringify(error) : undefined;
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
