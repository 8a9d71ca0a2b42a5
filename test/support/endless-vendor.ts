/**
 * A vendor of the four text wires that sends as much as is read: a given number of pieces, or for as long as
 * a client reads.
 */
import type { ServerResponse } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import { wires, type Wire } from './replaying-vendor.ts';
import { startScriptedVendor } from './scripted-vendor.ts';

/** A stream of one wire: how it opens, one piece of its text, and how it ends. */
interface Speech {
  readonly opening: string;
  say(text: string): string;
  ending(all: () => string): string;
}

type Body = Readonly<Record<string, unknown>>;

const data = (body: Body): string => `data: ${JSON.stringify(body)}\n\n`;
const event = (type: string, body: Body): string => `event: ${type}\n${data({ type, ...body })}`;

function createChatCompletions(): Speech {
  const chunk = (choices: readonly Body[], usage?: Body): string =>
    data({
      id: 'chatcmpl-1',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'gpt-4o-mini',
      choices,
      ...(usage ? { usage } : {}),
    });
  const choice = (delta: Body, reason: string | null = null): string =>
    chunk([{ index: 0, delta, finish_reason: reason }]);
  return {
    opening: choice({ role: 'assistant', content: '' }),
    say: (content) => choice({ content }),
    ending: () => {
      const usage = { prompt_tokens: 10, completion_tokens: 100, total_tokens: 110 };
      return `${choice({}, 'stop')}${chunk([], usage)}data: [DONE]\n\n`;
    },
  };
}

function createMessages(): Speech {
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-4-5',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 10, output_tokens: 1 },
  };
  const end = event('message_delta', {
    delta: { stop_reason: 'end_turn', stop_sequence: null },
    usage: { output_tokens: 100 },
  });
  return {
    opening:
      event('message_start', { message }) +
      event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    say: (text) => event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
    ending: () => event('content_block_stop', { index: 0 }) + end + event('message_stop', {}),
  };
}

function createResponses(): Speech {
  let number = 0;
  const numberEvent = (type: string, body: Body): string =>
    event(type, { ...body, sequence_number: (number += 1) - 1 });
  const place = { item_id: 'msg_1', output_index: 0, content_index: 0 };
  const part = (text: string): Body => ({ type: 'output_text', text, annotations: [], logprobs: [] });
  const item = (status: string, content: readonly Body[]): Body => ({
    id: 'msg_1',
    type: 'message',
    status,
    role: 'assistant',
    content,
  });
  const response = (status: string, more: Body = {}): Body => ({
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    status,
    model: 'gpt-4o-mini',
    output: [],
    error: null,
    usage: null,
    ...more,
  });
  const opening = [
    numberEvent('response.created', { response: response('in_progress') }),
    numberEvent('response.output_item.added', { output_index: 0, item: item('in_progress', []) }),
    numberEvent('response.content_part.added', { ...place, part: part('') }),
  ];
  return {
    opening: opening.join(''),
    say: (delta) => numberEvent('response.output_text.delta', { ...place, delta, logprobs: [] }),
    ending(all) {
      const text = all();
      const usage = { input_tokens: 10, output_tokens: 100, total_tokens: 110 };
      return (
        numberEvent('response.output_text.done', { ...place, text, logprobs: [] }) +
        numberEvent('response.content_part.done', { ...place, part: part(text) }) +
        numberEvent('response.output_item.done', { output_index: 0, item: item('completed', [part(text)]) }) +
        numberEvent('response.completed', {
          response: response('completed', { output: [item('completed', [part(text)])], usage }),
        })
      );
    },
  };
}

function createGenerateContent(): Speech {
  const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 100, totalTokenCount: 110 };
  const chunk = (text: string, more: Body = {}): string =>
    data({
      candidates: [{ content: { parts: [{ text }], role: 'model' }, index: 0, ...more }],
      usageMetadata,
      modelVersion: 'gemini-2.5-flash',
      responseId: 'r1',
    });
  return { opening: '', say: (text) => chunk(text), ending: () => chunk('', { finishReason: 'STOP' }) };
}

const speeches: Readonly<Record<Wire, () => Speech>> = {
  'chat-completions': createChatCompletions,
  responses: createResponses,
  messages: createMessages,
  'generate-content': createGenerateContent,
};

function createSpeech(path: string): Speech {
  if (path.includes('/chat/completions')) return createChatCompletions();
  return speeches[wires.find((wire) => path.includes(`/${wire}`)) ?? 'generate-content']();
}

/**
 * Writes as much as the socket accepts, and no more, until `next` has nothing left or the peer has
 * disconnected. Waits after each text for `hold`.
 */
async function pour(
  response: ServerResponse,
  next: () => string | undefined,
  hold: () => Promise<void> | undefined,
): Promise<void> {
  let resume = (): void => undefined;
  response
    .writeHead(200, { 'content-type': 'text/event-stream' })
    .on('drain', () => resume())
    .on('close', () => resume());
  for (let text = next(); text !== undefined && !response.destroyed; text = next()) {
    if (!response.write(text)) await new Promise<void>((resolve) => void (resume = resolve));
    const held = hold();
    if (held) await held;
  }
}

/** Writes whether the peer reads or not, until it has disconnected; other work runs in between. */
async function goOn(response: ServerResponse, next: () => string): Promise<void> {
  while (!response.destroyed) {
    response.write(next());
    await turn();
  }
}

export interface Firehose {
  /** The provider options that make a gateway use it for each of its providers. */
  readonly environment: Readonly<Record<string, string>>;
  /** Events that went out so far, to all. */
  poured(): number;
  close(): Promise<void>;
}

/**
 * `word` gets the number of each piece of a stream, from 1, and returns its text; undefined ends the stream.
 * `encore` is repeated without end after it. `hold` gets the number of the next piece, which waits for it.
 */
export async function startFirehose(
  word: (number: number) => string | undefined,
  encore?: string,
  hold: (number: number) => Promise<void> | undefined = () => undefined,
): Promise<Firehose> {
  let poured = 0;
  const vendor = await startScriptedVendor(async (response, { url = '' }) => {
    const { opening, say, ending } = createSpeech(url);
    let [number, over] = [0, false];
    const joinWords = (): string => Array.from({ length: number }, (_, index) => word(index + 1)).join('');
    const next = (): string | undefined => {
      if (over) return undefined;
      poured += 1;
      const text = word(number + 1);
      over = text === undefined;
      if (text === undefined) return ending(joinWords);
      number += 1;
      return number === 1 ? opening + say(text) : say(text);
    };
    await pour(response, next, () => hold(number + 1));
    if (encore !== undefined) {
      await goOn(response, () => {
        poured += 1;
        return say(encore);
      });
    }
    response.end();
  });
  return {
    environment: {
      OPENAI_BASE_URL: `${vendor.origin}/v1`,
      ANTHROPIC_BASE_URL: vendor.origin,
      GOOGLE_GEMINI_BASE_URL: vendor.origin,
    },
    poured: () => poured,
    close: () => vendor.close(),
  };
}
