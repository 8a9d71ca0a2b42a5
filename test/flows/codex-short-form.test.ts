/**
 * The short form of requests ("responses lite") that Codex uses for models of its own catalogue, also where
 * an alias leads to another vendor: all tools are in the first item, and one of them runs JavaScript.
 */
import { describe, expect, it } from 'vitest';
import { keepReply } from '../support/continue-conversation.ts';
import { getModel, wires, type Crossing, type Wire } from '../support/four-wires.ts';
import type { Json } from '../support/json.ts';
import { hear, joinStream, readObjects } from '../support/listen.ts';
import { codex, harness, openAgents } from './agent-sessions.ts';

openAgents();

const parameters = { type: 'object', properties: {}, additionalProperties: false };
const toFunction = (name: string): object => ({
  type: 'function',
  name,
  description: `Does ${name}.`,
  strict: false,
  parameters,
});
const exec = {
  type: 'custom',
  name: 'exec',
  description: 'Runs JavaScript.',
  format: { type: 'grammar', syntax: 'lark', definition: 'start: /(.|\\n)+/' },
};
const opening = [
  {
    type: 'additional_tools',
    id: 'at_0199',
    role: 'developer',
    tools: [
      { type: 'namespace', name: 'functions', description: '', tools: [exec, toFunction('wait')] },
      { type: 'namespace', name: 'clock', description: 'Time.', tools: [toFunction('sleep')] },
    ],
  },
  ...codex.opening,
];

function ask(wire: Wire, input: readonly object[]): Promise<Crossing> {
  const { tools: _tools, ...body } = Object.fromEntries(Object.entries(codex.body(input)));
  return harness.ask(
    'responses',
    getModel(wire, 'thinking').id,
    { ...body, parallel_tool_calls: false, text: { verbosity: 'medium' }, reasoning: { effort: 'low' } },
    true,
    { ...codex.headers, 'x-openai-internal-codex-responses-lite': 'true' },
  );
}

function readReply({ status, text }: Crossing): Json {
  expect(status, text).toBe(200);
  return joinStream('responses', text);
}

const source = 'text(await tools.exec_command({ cmd: "ls" }))';

describe.each(wires)('a model on %s', (wire) => {
  const freeform = wire === 'chat-completions' || wire === 'responses';
  const call = { name: 'exec', freeform, arguments: freeform ? source : JSON.stringify({ input: source }) };

  it('runs JavaScript, reads the result and answers', async () => {
    const { upstream } = getModel(wire, 'thinking');
    harness.vendors[wire].script(upstream, { toolCalls: [call] }, { text: 'Three boats.' });
    const first = readReply(await ask(wire, opening));
    const [called] = readObjects(first.output).filter(({ type }) => type === 'custom_tool_call');
    expect(called).toMatchObject({ name: 'exec', namespace: 'functions', input: source });
    const result = { type: 'custom_tool_call_output', call_id: called?.call_id, output: 'boats.txt' };
    const crossing = await ask(wire, [...opening, ...keepReply('responses', first), result]);
    expect(hear('responses', readReply(crossing)).text).toBe('Three boats.');
    expect(JSON.stringify(crossing.sent)).toContain('boats.txt');
  });

  it('is offered every tool of the first item', async () => {
    harness.vendors[wire].script(getModel(wire, 'thinking').upstream, { text: 'Aye.' });
    const { sent } = await ask(wire, opening);
    const names = [...JSON.stringify(sent).matchAll(/"name":"(\w+)"/g)].map(([, name]) => name);
    expect(new Set(names)).toEqual(
      new Set(['exec', 'wait', 'sleep', ...(wire === 'responses' ? ['functions', 'clock'] : [])]),
    );
  });

  it('compacts the session, and goes on from the summary', async () => {
    const { upstream } = getModel(wire, 'thinking');
    harness.vendors[wire].script(upstream, { toolCalls: [call] }, { text: 'It was ls.' }, { text: 'Aye.' });
    const first = readReply(await ask(wire, opening));
    const said = keepReply('responses', first);
    const [called] = readObjects(said).filter(({ type }) => type === 'custom_tool_call');
    const result = { type: 'custom_tool_call_output', call_id: called?.call_id, output: 'boats.txt' };
    const compacted = readReply(
      await ask(wire, [...opening, ...said, result, { type: 'compaction_trigger' }]),
    );
    expect(compacted.output).toMatchObject([{ type: 'compaction' }]);
    const crossing = await ask(wire, [...opening, ...keepReply('responses', compacted)]);
    expect(hear('responses', readReply(crossing)).text).toBe('Aye.');
    expect(JSON.stringify(crossing.sent)).toContain('It was ls.');
  });
});
