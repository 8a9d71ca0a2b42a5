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
import { getModel, openFourWires, wires, type FourWires, type Wire } from '../support/four-wires.ts';
import {
  createChatLoop,
  description,
  createGenerateLoop,
  harbours,
  createMessagesLoop,
  parameters,
  toPlain,
  createResponsesLoop,
  answerTide,
  type Run,
} from './tool-loop.ts';

let harness: FourWires;
beforeAll(async () => {
  harness = await openFourWires();
});
afterAll(() => harness.close());

async function collectContents(
  stream: AsyncIterable<{ readonly candidates?: readonly { readonly content?: Content }[] }>,
): Promise<Content[]> {
  const chunks = await Array.fromAsync(stream);
  return chunks.flatMap(({ candidates = [] }) =>
    candidates.flatMap(({ content }) => (content ? [content] : [])),
  );
}

const buildOpenAiOptions = () => ({
  apiKey: harness.key,
  baseURL: `${harness.gateway.url}/v1`,
  maxRetries: 0,
});
const buildAnthropicOptions = () => ({
  apiKey: harness.key,
  baseURL: `${harness.gateway.url}/alpha`,
  maxRetries: 0,
});
const buildGoogleOptions = () => ({
  apiKey: harness.key,
  httpOptions: { baseUrl: `${harness.gateway.url}/beta` },
});

const helpers: readonly (readonly [name: string, client: Wire, run: () => Run])[] = [
  [
    'openai 7, chat.completions.stream',
    'chat-completions',
    () =>
      createChatLoop(
        async (body) =>
          (await new OpenAI(buildOpenAiOptions()).chat.completions.stream(body).finalChatCompletion())
            .choices[0]?.message,
      ),
  ],
  [
    'openai 6, chat.completions.stream',
    'chat-completions',
    () =>
      createChatLoop(
        async (body) =>
          (
            await new OpenAIBefore(buildOpenAiOptions()).chat.completions
              .stream(toPlain(body))
              .finalChatCompletion()
          ).choices[0]?.message,
      ),
  ],
  [
    'openai 7, responses.stream',
    'responses',
    () =>
      createResponsesLoop((body) => new OpenAI(buildOpenAiOptions()).responses.stream(body).finalResponse()),
  ],
  [
    'openai 6, responses.stream',
    'responses',
    () =>
      createResponsesLoop((body) =>
        new OpenAIBefore(buildOpenAiOptions()).responses.stream(toPlain(body)).finalResponse(),
      ),
  ],
  [
    '@anthropic-ai/sdk 1, messages.stream',
    'messages',
    () =>
      createMessagesLoop(
        async (body) =>
          (await new Anthropic(buildAnthropicOptions()).messages.stream(body).finalMessage()).content,
      ),
  ],
  [
    '@anthropic-ai/sdk 0, messages.stream',
    'messages',
    () =>
      createMessagesLoop(
        async (body) =>
          (await new AnthropicBefore(buildAnthropicOptions()).messages.stream(body).finalMessage()).content,
      ),
  ],
  [
    '@google/genai 3, generateContentStream',
    'generate-content',
    () =>
      createGenerateLoop(async (body) =>
        collectContents(await new GoogleGenAI(buildGoogleOptions()).models.generateContentStream(body)),
      ),
  ],
  [
    '@google/genai 2, generateContentStream',
    'generate-content',
    () =>
      createGenerateLoop(async (body) =>
        collectContents(await new GoogleGenAIBefore(buildGoogleOptions()).models.generateContentStream(body)),
      ),
  ],
];

function scriptLoop(wire: Wire): void {
  for (const kind of ['plain', 'thinking'] as const) {
    harness.vendors[wire].script(
      getModel(wire, kind).upstream,
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
        const before = harness.gateway.ends.length;
        const { asked: received, answer } = await run()(getModel(wire, kind).id);
        expect(received).toEqual(harbours.map((harbour) => ({ harbour })));
        expect(answer).toBe('All at noon.');
        const ends = (await harness.gateway.ended(before + 2)).slice(before);
        expect(
          ends.map((end) => end.type === 'answered' && [end.outcome, end.exchange.family, end.charge.basis]),
        ).toEqual([
          ['completed', client, 'usage'],
          ['completed', client, 'usage'],
        ]);
        const sent = harness.vendors[wire].requests.at(-1)?.body.toString() ?? '';
        for (const harbour of harbours) expect(sent).toContain(`noon ({\\"harbour\\":\\"${harbour}\\"})`);
      },
    );
  });
});

describe.each(wires)('@anthropic-ai/sdk 1, beta.messages.toolRunner on %s', (wire) => {
  beforeEach(() => scriptLoop(wire));

  it.each(['plain', 'thinking'] as const)(
    'learns that the gateway stores no conversation, and sends all of it, to a %s model',
    async (kind) => {
      const received: unknown[] = [];
      const run = (input: unknown): string => {
        received.push(input);
        return answerTide(input);
      };
      const tools = [betaTool({ name: 'tide_at', description, inputSchema: parameters, run })];
      const message = await new Anthropic(buildAnthropicOptions()).beta.messages.toolRunner({
        model: getModel(wire, kind).id,
        max_tokens: 2000,
        tools,
        messages: [{ role: 'user', content: 'Tides?' }],
      });
      expect(received).toEqual(harbours.map((harbour) => ({ harbour })));
      expect(message.content.map((block) => (block.type === 'text' ? block.text : '')).join('')).toBe(
        'All at noon.',
      );
      const sent = harness.vendors[wire].requests.at(-1)?.body.toString() ?? '';
      for (const said of ['Tides?', ...harbours]) expect(sent).toContain(said);
    },
  );
});
