/**
 * Clients by their defaults: the AI SDK of two versions, which refers to items from the second turn on, and
 * the Agents SDK with each of its ways to remember. Conversations of five turns with tools, on all wires.
 */
import { createOpenAI } from '@ai-sdk/openai';
import {
  Agent,
  OpenAIConversationsSession,
  OpenAIProvider,
  Runner,
  setTracingDisabled,
  tool as agentTool,
  user,
  type AgentInputItem,
} from '@openai/agents';
import { generateText, isStepCount, streamText, tool, type ModelMessage } from 'ai';
import { generateText as generateText6, stepCountIs, streamText as streamText6, tool as tool6 } from 'ai-6';
import { createOpenAI as createOpenAI6 } from 'ai-sdk-openai-3';
import OpenAI from 'openai';
import { beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { openFourWires, wires, type FourWires } from '../support/four-wires.ts';
import { answers, listFaults, questions, scriptTurns } from './five-turns.ts';

let harness: FourWires;
let settings: { readonly apiKey: string; readonly baseURL: string };
beforeAll(async () => {
  setTracingDisabled(true);
  harness = await openFourWires({ store: { for: '1h' } });
  settings = { apiKey: harness.key, baseURL: `${harness.gateway.url}/v1` };
});

/** Whether the client has referred to something that the gateway keeps. */
function countReferences(from: number): number {
  const calls = harness.gateway.ends.slice(from).map(({ exchange }) => exchange.call);
  return calls.filter((call) => call && 'expansion' in call && call.expansion !== undefined).length;
}

const parameters = z.object({ harbour: z.string() });
const execute = async ({ harbour }: z.output<typeof parameters>): Promise<string> => `tide of ${harbour}`;

const cases = wires.flatMap((wire) => (['plain', 'thinking'] as const).map((kind) => [wire, kind] as const));

it.each(cases)('the AI SDK 7 holds five turns by its defaults, on %s with a %s model', async (wire, kind) => {
  const model = createOpenAI(settings)(scriptTurns(harness, wire, kind));
  const before = harness.gateway.ends.length;
  const tools = { tide_at: tool({ description: 'Tides.', inputSchema: parameters, execute }) };
  const messages: ModelMessage[] = [];
  for (const [turn, question] of questions.entries()) {
    messages.push({ role: 'user', content: question });
    const asked = { model, tools, messages, stopWhen: isStepCount(3), maxRetries: 0 };
    const result = turn % 2 === 0 ? await generateText(asked) : streamText(asked);
    expect(await result.text).toBe(answers[turn]);
    messages.push(...(await result.responseMessages));
  }
  expect(listFaults(harness, wire)).toEqual([]);
  expect(countReferences(before)).toBeGreaterThanOrEqual(5);
});

it.each(cases)('the AI SDK 6 holds five turns by its defaults, on %s with a %s model', async (wire, kind) => {
  const model = createOpenAI6(settings)(scriptTurns(harness, wire, kind));
  const before = harness.gateway.ends.length;
  const tools = { tide_at: tool6({ description: 'Tides.', inputSchema: parameters, execute }) };
  const messages: NonNullable<Parameters<typeof generateText6>[0]['messages']> = [];
  for (const [turn, question] of questions.entries()) {
    messages.push({ role: 'user', content: question });
    const asked = { model, tools, messages, stopWhen: stepCountIs(3), maxRetries: 0 };
    const result = turn % 2 === 0 ? await generateText6(asked) : streamText6(asked);
    expect(await result.text).toBe(answers[turn]);
    messages.push(...(await result.response).messages);
  }
  expect(listFaults(harness, wire)).toEqual([]);
  expect(countReferences(before)).toBeGreaterThanOrEqual(5);
});

function openRunner(): Runner {
  const openAIClient = new OpenAI({ ...settings, maxRetries: 0 });
  return new Runner({ modelProvider: new OpenAIProvider({ openAIClient, useResponses: true }) });
}

function makeAgent(model: string): Agent {
  return new Agent({
    name: 'Harbour master',
    instructions: 'Be brief.',
    model,
    tools: [agentTool({ name: 'tide_at', description: 'Tides.', parameters, execute })],
  });
}

it.each(cases)('an agent holds five turns by its history, on %s with a %s model', async (wire, kind) => {
  const [runner, agent] = [openRunner(), makeAgent(scriptTurns(harness, wire, kind))];
  let history: AgentInputItem[] = [];
  for (const [turn, question] of questions.entries()) {
    const result = await runner.run(agent, [...history, user(question)]);
    expect(result.finalOutput).toBe(answers[turn]);
    ({ history } = result);
  }
  expect(listFaults(harness, wire)).toEqual([]);
});

it.each(cases)(
  'an agent holds five turns by previousResponseId, on %s with a %s model',
  async (wire, kind) => {
    const [runner, agent] = [openRunner(), makeAgent(scriptTurns(harness, wire, kind))];
    const before = harness.gateway.ends.length;
    let last: string | undefined;
    for (const [turn, question] of questions.entries()) {
      const result = await runner.run(
        agent,
        question,
        last === undefined ? {} : { previousResponseId: last },
      );
      expect(result.finalOutput).toBe(answers[turn]);
      last = result.lastResponseId;
    }
    expect(listFaults(harness, wire)).toEqual([]);
    expect(countReferences(before)).toBeGreaterThanOrEqual(5);
  },
);

it.each(cases)('an agent holds five turns in a conversation, on %s with a %s model', async (wire, kind) => {
  const [runner, agent] = [openRunner(), makeAgent(scriptTurns(harness, wire, kind))];
  const { id: conversationId } = await new OpenAI(settings).conversations.create({});
  for (const [turn, question] of questions.entries()) {
    const result = await runner.run(agent, question, { conversationId });
    expect(result.finalOutput).toBe(answers[turn]);
  }
  expect(listFaults(harness, wire)).toEqual([]);
});

it.each(cases)(
  'an agent streams five turns with a session of conversations, on %s with a %s model',
  async (wire, kind) => {
    const [runner, agent] = [openRunner(), makeAgent(scriptTurns(harness, wire, kind))];
    const session = new OpenAIConversationsSession({ client: new OpenAI(settings) });
    for (const [turn, question] of questions.entries()) {
      const result = await runner.run(agent, question, { session, stream: true });
      await result.completed;
      expect(result.finalOutput).toBe(answers[turn]);
    }
    expect(listFaults(harness, wire)).toEqual([]);
    expect((await session.getItems()).length).toBeGreaterThan(10);
    await session.clearSession();
  },
);
