/**
 * Coding agents as they really call: Claude Code (messages), Codex (responses) and Gemini CLI
 * (generate-content), with their headers, tools and settings, on every wire. Each receives a call, runs it
 * and continues, and each receives its stream framed as it needs it.
 */
import { describe, expect, it } from 'vitest';
import { answerCalls, keepReply, type Entry } from '../support/continue-conversation.ts';
import { getModel, wires, type Crossing, type Wire } from '../support/four-wires.ts';
import { isObject, type Json } from '../support/json.ts';
import { readData, hear, readObjects, joinStream } from '../support/listen.ts';
import { postJson } from '../support/post.ts';
import { pixel } from '../support/vendor/improvise.ts';
import {
  type Agent,
  ask,
  claudeCode,
  codex,
  command,
  geminiCli,
  openAgents,
  harness,
} from './agent-sessions.ts';

openAgents();

/**
 * An entry as the agent sends it back: Codex unchanged except for an empty content of reasoning, Claude Code
 * with its calls after everything else.
 */
function rewriteEntry(client: Wire, entry: Entry): Entry {
  if (client === 'responses' && 'summary' in entry) return { ...entry, content: null };
  if (client !== 'messages' || !('content' in entry)) return entry;
  const isCall = ({ type }: Json): boolean => type === 'tool_use';
  const blocks = readObjects(entry.content);
  return { ...entry, content: [...blocks.filter((block) => !isCall(block)), ...blocks.filter(isCall)] };
}

/** The agent asks, receives a call, runs it, and receives an answer; returns both replies as received. */
async function runSession(agent: Agent, wire: Wire): Promise<readonly [Crossing, Crossing]> {
  const { client, tool, opening } = agent;
  harness.vendors[wire].script(
    getModel(wire, 'thinking').upstream,
    {
      reasoning: 'I look.',
      text: 'I run it. ',
      toolCalls: [{ name: tool, arguments: JSON.stringify(command) }],
    },
    { reasoning: 'I count.', text: 'Three boats.' },
  );
  const first = await ask(agent, wire, opening);
  const reply = joinStream(client, first.text);
  expect(hear(client, reply).calls.map(({ name, input }) => ({ name, input }))).toEqual([
    { name: tool, input: command },
  ]);
  const again = keepReply(client, reply).map((entry) => rewriteEntry(client, entry));
  const second = await ask(agent, wire, [
    ...opening,
    ...again,
    ...answerCalls(client, reply, () => 'boats.txt'),
  ]);
  expect(hear(client, joinStream(client, second.text)).text).toBe('Three boats.');
  return [first, second];
}

describe.each(wires)('on %s', (wire) => {
  it('understands Claude Code, and streams named events, usage at the start and one end', async () => {
    for (const { text } of await runSession(claudeCode, wire)) {
      const frames = text.split('\n\n').filter((frame) => frame.trim() !== '');
      for (const frame of frames) expect(frame).toMatch(/^event: [a-z_]+\ndata: \{/);
      const events = readData(text);
      expect(events[0]).toMatchObject({
        type: 'message_start',
        message: { usage: { input_tokens: expect.any(Number), output_tokens: expect.any(Number) } },
      });
      expect(events.filter(({ type }) => type === 'message_delta')).toHaveLength(1);
      expect(events.at(-1)).toEqual({ type: 'message_stop' });
    }
  });

  it('gives Claude Code a reply whose last block, which it prints, is the text', async () => {
    const [, { text }] = await runSession(claudeCode, wire);
    const blocks = readObjects(joinStream('messages', text).content);
    expect(blocks.at(-1)).toMatchObject({ type: 'text', text: 'Three boats.' });
  });

  it('understands Codex, and ends the stream with a completed response that has usage', async () => {
    for (const { text } of await runSession(codex, wire)) {
      const events = readData(text);
      expect(events.slice(0, 2).map(({ type }) => type)).toEqual([
        'response.created',
        'response.in_progress',
      ]);
      expect(events.at(-1)).toMatchObject({
        type: 'response.completed',
        response: {
          status: 'completed',
          usage: { input_tokens: expect.any(Number), output_tokens: expect.any(Number) },
        },
      });
      expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, index) => index));
      expect(text.trimEnd().endsWith('data: [DONE]')).toBe(true);
    }
  });

  it('gives Codex a patch as free text, whatever its provider calls it', async () => {
    const patch = '*** Begin Patch\n+ "boat"\n*** End Patch';
    const freeform = wire === 'chat-completions' || wire === 'responses';
    harness.vendors[wire].script(
      getModel(wire, 'thinking').upstream,
      {
        toolCalls: [
          { name: 'apply_patch', freeform, arguments: freeform ? patch : JSON.stringify({ input: patch }) },
        ],
      },
      { text: 'Done.' },
    );
    const first = await ask(codex, wire, codex.opening);
    const reply = joinStream('responses', first.text);
    expect(readObjects(reply.output).filter(({ type }) => type === 'custom_tool_call')).toMatchObject([
      { name: 'apply_patch', input: patch },
    ]);
    const second = await ask(codex, wire, [
      ...codex.opening,
      ...keepReply('responses', reply),
      ...answerCalls('responses', reply, () => 'Done!'),
    ]);
    expect(hear('responses', joinStream('responses', second.text)).text).toBe('Done.');
  });

  it('gives Codex the namespace of a called tool, and the model a picture Codex opens', async () => {
    harness.vendors[wire].script(
      getModel(wire, 'thinking').upstream,
      { toolCalls: [{ name: 'spawn_agent', arguments: '{}' }] },
      { text: 'A boat.' },
    );
    const reply = joinStream('responses', (await ask(codex, wire, codex.opening)).text);
    const calls = readObjects(reply.output).filter(({ type }) => type === 'function_call');
    expect(calls).toMatchObject([{ name: 'spawn_agent', namespace: 'multi_agent' }]);
    const picture = { type: 'input_image', image_url: `data:image/png;base64,${pixel}`, detail: 'high' };
    const { text, sent } = await ask(codex, wire, [
      ...codex.opening,
      ...keepReply('responses', reply),
      ...calls.map(({ call_id: id }) => ({ type: 'function_call_output', call_id: id, output: [picture] })),
    ]);
    expect(JSON.stringify(sent)).toContain(pixel);
    expect(hear('responses', joinStream('responses', text)).text).toBe('A boat.');
  });

  it('understands Gemini CLI, and streams bare data with one finish reason, in the last chunk', async () => {
    for (const { text } of await runSession(geminiCli, wire)) {
      for (const line of text.split(/\r?\n/)) expect(line).toMatch(/^(data: \{.*\})?$/);
      const chunks = readData(text);
      const finished = chunks.map(({ candidates }) =>
        readObjects(candidates).some(({ finishReason }) => finishReason !== undefined),
      );
      expect(finished.filter(Boolean)).toEqual([true]);
      expect(finished.at(-1)).toBe(true);
      expect(isObject(chunks.at(-1)?.usageMetadata)).toBe(true);
    }
  });
});

const findSignature = (sent: unknown): unknown =>
  /"thoughtSignature":"([^"]*)"/.exec(JSON.stringify(sent))?.[1];

it.each([
  ['Claude Code', claudeCode],
  ['Codex', codex],
  ['Gemini CLI', geminiCli],
])('what Gemini signs returns to Gemini from %s', async (_, agent) => {
  const [first, second] = await runSession(agent, 'generate-content');
  const sealed = findSignature(second.sent);
  expect(sealed).toMatch(/^[A-Za-z0-9+/]{40,}=*$/);
  if (agent === geminiCli) expect(first.text).toContain(sealed);
});

it.each(wires)(
  'a path that does not ask for events returns one JSON array from %s to Gemini CLI',
  async (wire) => {
    const { upstream, id } = getModel(wire, 'thinking');
    harness.vendors[wire].script(upstream, { text: 'Three boats.' });
    const response = await postJson(
      `${harness.gateway.url}/beta/v1beta/models/${id}:streamGenerateContent`,
      geminiCli.body(geminiCli.opening),
      { ...geminiCli.headers },
    );
    const chunks: unknown = await response.json();
    expect(response.headers.get('content-type')).toContain('application/json');
    const finished = readObjects(chunks).map(({ candidates }) =>
      readObjects(candidates).some(({ finishReason }) => finishReason === 'STOP'),
    );
    expect([finished.length > 1, finished.at(-1), finished.filter(Boolean).length]).toEqual([true, true, 1]);
  },
);
