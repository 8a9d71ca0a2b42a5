/**
 * A tool loop by the streaming helper of each official SDK, this major version and the previous one, on every
 * wire: three calls side by side, their results in one turn, and the answer.
 */
import Anthropic from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import { GoogleGenAI } from '@google/genai';
import AnthropicBefore from 'anthropic-sdk-0';
import { GoogleGenAI as GoogleGenAIBefore } from 'google-genai-2';
import OpenAI from 'openai';
import OpenAIBefore from 'openai-6';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { getModel, openFourWires, wires, type FourWires, type Wire } from '../support/four-wires.ts';
import { createSdkClients } from '../support/sdk-clients.ts';

const versions = {
  current: { OpenAI, Anthropic, GoogleGenAI },
  previous: { OpenAI: OpenAIBefore, Anthropic: AnthropicBefore, GoogleGenAI: GoogleGenAIBefore },
} as const;

const harbours = ['Hull', 'Whitby', 'Oslo'];
const kinds = ['plain', 'thinking'] as const;

const name = 'tide_at';
const description = 'When the tide turns.';
const schema = {
  type: 'object' as const,
  properties: { harbour: { type: 'string' as const } },
  required: ['harbour'],
  additionalProperties: false,
};

const answerTide = (input: unknown): string => `noon (${JSON.stringify(input)})`;

let harness: FourWires;
beforeAll(async () => {
  harness = await openFourWires();
});

function scriptLoop(wire: Wire): void {
  for (const kind of kinds) {
    harness.vendors[wire].script(
      getModel(wire, kind).upstream,
      {
        text: 'I look. ',
        interleaved: true,
        toolCalls: harbours.map((harbour) => ({
          name,
          arguments: ['{"harbour"', ':"', harbour, '"}'],
        })),
      },
      { text: ['All ', 'at ', 'noon.'] },
    );
  }
}

describe.each(wires)('on %s', (wire) => {
  beforeEach(() => scriptLoop(wire));

  it.each(
    wires.flatMap((client) =>
      (['current', 'previous'] as const).flatMap((version) =>
        kinds.map((kind) => [version, client, kind] as const),
      ),
    ),
  )(
    'the %s SDK of %s streams three calls at once and their results to and from a %s model',
    async (version, client, kind) => {
      const before = harness.gateway.ends.length;
      const { id } = getModel(wire, kind);
      const clients = createSdkClients(harness.gateway.url, harness.key, versions[version]);
      const thinks = kind === 'thinking';
      const talk = clients[client]({ text: 'Tides?', tools: [{ name, description, schema }], thinks });
      const { calls } = await talk.ask(id, 'streamed');
      const inputs = calls.map(({ arguments: input }) => input);
      expect(inputs).toEqual(harbours.map((harbour) => ({ harbour })));
      talk.answer(inputs.map(answerTide));
      expect((await talk.ask(id, 'streamed')).text).toBe('All at noon.');
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

  it.each(kinds)(
    'the tool runner of Anthropic learns that the gateway stores nothing, and sends all to a %s model',
    async (kind) => {
      const received: unknown[] = [];
      const run = (input: unknown): string => {
        received.push(input);
        return answerTide(input);
      };
      const tools = [betaTool({ name, description, inputSchema: schema, run })];
      const anthropic = new Anthropic({
        apiKey: harness.key,
        baseURL: `${harness.gateway.url}/alpha`,
        maxRetries: 0,
      });
      const message = await anthropic.beta.messages.toolRunner({
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
