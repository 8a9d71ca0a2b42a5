/**
 * A tool loop by the streaming helper of each official SDK, this major version and the previous one, on every
 * wire: three calls side by side, their results in one turn, and the answer.
 */
import Anthropic from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import { GoogleGenAI, type Content } from '@google/genai';
import AnthropicBefore from 'anthropic-sdk-0';
import { GoogleGenAI as GoogleGenAIBefore } from 'google-genai-2';
import OpenAI from 'openai';
import OpenAIBefore from 'openai-6';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { modelOf, openQuartet, wires, type Quartet, type Wire } from '../support/quartet.ts';
import {
  chatLoop,
  description,
  generateLoop,
  harbours,
  messagesLoop,
  parameters,
  plain,
  responsesLoop,
  tideAt,
  type Run,
} from './tool-loop.ts';

let quartet: Quartet;
beforeAll(async () => {
  quartet = await openQuartet();
});
afterAll(() => quartet.close());

async function contentsOf(
  stream: AsyncIterable<{ readonly candidates?: readonly { readonly content?: Content }[] }>,
): Promise<Content[]> {
  const chunks = await Array.fromAsync(stream);
  return chunks.flatMap(({ candidates = [] }) =>
    candidates.flatMap(({ content }) => (content ? [content] : [])),
  );
}

const openAiAt = () => ({ apiKey: quartet.key, baseURL: `${quartet.gateway.url}/v1`, maxRetries: 0 });
const anthropicAt = () => ({ apiKey: quartet.key, baseURL: `${quartet.gateway.url}/alpha`, maxRetries: 0 });
const googleAt = () => ({ apiKey: quartet.key, httpOptions: { baseUrl: `${quartet.gateway.url}/beta` } });

const helpers: readonly (readonly [name: string, client: Wire, run: () => Run])[] = [
  [
    'openai 7, chat.completions.stream',
    'chat-completions',
    () =>
      chatLoop(
        async (body) =>
          (await new OpenAI(openAiAt()).chat.completions.stream(body).finalChatCompletion()).choices[0]
            ?.message,
      ),
  ],
  [
    'openai 6, chat.completions.stream',
    'chat-completions',
    () =>
      chatLoop(
        async (body) =>
          (await new OpenAIBefore(openAiAt()).chat.completions.stream(plain(body)).finalChatCompletion())
            .choices[0]?.message,
      ),
  ],
  [
    'openai 7, responses.stream',
    'responses',
    () => responsesLoop((body) => new OpenAI(openAiAt()).responses.stream(body).finalResponse()),
  ],
  [
    'openai 6, responses.stream',
    'responses',
    () => responsesLoop((body) => new OpenAIBefore(openAiAt()).responses.stream(plain(body)).finalResponse()),
  ],
  [
    '@anthropic-ai/sdk 1, messages.stream',
    'messages',
    () =>
      messagesLoop(
        async (body) => (await new Anthropic(anthropicAt()).messages.stream(body).finalMessage()).content,
      ),
  ],
  [
    '@anthropic-ai/sdk 0, messages.stream',
    'messages',
    () =>
      messagesLoop(
        async (body) =>
          (await new AnthropicBefore(anthropicAt()).messages.stream(body).finalMessage()).content,
      ),
  ],
  [
    '@google/genai 3, generateContentStream',
    'generate-content',
    () =>
      generateLoop(async (body) =>
        contentsOf(await new GoogleGenAI(googleAt()).models.generateContentStream(body)),
      ),
  ],
  [
    '@google/genai 2, generateContentStream',
    'generate-content',
    () =>
      generateLoop(async (body) =>
        contentsOf(await new GoogleGenAIBefore(googleAt()).models.generateContentStream(body)),
      ),
  ],
];

function scriptLoop(wire: Wire): void {
  for (const kind of ['plain', 'thinking'] as const) {
    quartet.vendors[wire].script(
      modelOf(wire, kind).upstream,
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
        const before = quartet.gateway.ends.length;
        const { asked: received, answer } = await run()(modelOf(wire, kind).id);
        expect(received).toEqual(harbours.map((harbour) => ({ harbour })));
        expect(answer).toBe('All at noon.');
        const ends = (await quartet.gateway.ended(before + 2)).slice(before);
        expect(
          ends.map((end) => end.type === 'answered' && [end.outcome, end.exchange.family, end.charge.basis]),
        ).toEqual([
          ['completed', client, 'usage'],
          ['completed', client, 'usage'],
        ]);
        const sent = quartet.vendors[wire].requests.at(-1)?.body.toString() ?? '';
        for (const harbour of harbours) expect(sent).toContain(`noon ({\\"harbour\\":\\"${harbour}\\"})`);
      },
    );
  });
});

describe('@anthropic-ai/sdk 1, beta.messages.toolRunner', () => {
  describe.each(wires)('on %s', (wire) => {
    beforeEach(() => scriptLoop(wire));

    it.each(['plain', 'thinking'] as const)(
      'learns that the gateway stores no conversation, and sends all of it, to a %s model',
      async (kind) => {
        const received: unknown[] = [];
        const run = (input: unknown): string => {
          received.push(input);
          return tideAt(input);
        };
        const tools = [betaTool({ name: 'tide_at', description, inputSchema: parameters, run })];
        const message = await new Anthropic(anthropicAt()).beta.messages.toolRunner({
          model: modelOf(wire, kind).id,
          max_tokens: 2000,
          tools,
          messages: [{ role: 'user', content: 'Tides?' }],
        });
        expect(received).toEqual(harbours.map((harbour) => ({ harbour })));
        expect(message.content.map((block) => (block.type === 'text' ? block.text : '')).join('')).toBe(
          'All at noon.',
        );
        const sent = quartet.vendors[wire].requests.at(-1)?.body.toString() ?? '';
        for (const said of ['Tides?', ...harbours]) expect(sent).toContain(said);
      },
    );
  });
});
