/** Tools that a client offers in an item of `input`, as Codex does, instead of in `tools`. */
import { beforeAll, describe, expect, it } from 'vitest';
import { getModel, openFourWires, wires, type FourWires, type Wire } from '../support/four-wires.ts';
import { makeCall, user } from './bodies.ts';

const find = { type: 'function', name: 'find', parameters: { type: 'object', properties: {} } };

function offered(...tools: readonly object[]): { readonly input: readonly object[] } {
  return { input: [user, { type: 'additional_tools', role: 'developer', tools }] };
}

it.each([
  ['web_search', { fees: [{ name: 'webSearch', field: 'input[1].tools[1].type', spared: true }] }],
  ['code_interpreter', { fees: [{ name: 'container', field: 'input[1].tools[1].type' }] }],
  ['image_generation', { modes: [{ name: 'image_generation', field: 'input[1].tools[1].type' }] }],
])('tools in an item have the price of their like in `tools`: %s', (type, facts) => {
  expect(makeCall(offered(find, { type }))).toMatchObject(facts);
});

it('tools in an item can be chosen, and come after those of `tools`', () => {
  const { tools, toolChoice } = makeCall({
    ...offered(find),
    tools: [{ ...find, name: 'first' }],
    tool_choice: { type: 'function', name: 'find' },
  }).decode();
  expect(tools).toMatchObject([{ name: 'first' }, { name: 'find', at: 'input[1].tools[0]' }]);
  expect(toolChoice).toMatchObject({ mode: 'one', names: ['find'] });
  expect(makeCall({ ...offered(find), tool_choice: 'required' }).decode().toolChoice).toEqual({
    mode: 'required',
  });
});

describe('tools in an item, for any provider', () => {
  let harness: FourWires;
  beforeAll(async () => {
    harness = await openFourWires();
  });

  it.each(wires)('are offered by %s like any other', async (wire) => {
    const { status, text, headers, sent } = await harness.ask('responses', getModel(wire).id, offered(find));
    expect([status, headers.get('x-tollgate-dropped')]).toEqual([200, null]);
    expect(JSON.stringify(sent)).not.toMatch(/"role":"(assistant|model)"/);
    expect(JSON.parse(text)).toMatchObject({ output: [{ type: 'function_call', name: 'find' }] });
  });

  it.each(wires.filter((wire) => wire !== 'responses'))(
    'are offered to %s once if the client repeats them, by their last definition',
    async (wire) => {
      const space = { type: 'namespace', name: 'boats', description: '', tools: [{ ...find, name: 'row' }] };
      const again = { ...find, description: 'Finds boats.' };
      const body = { ...offered(space, again), tools: [find, space] };
      const { status, headers, sent } = await harness.ask('responses', getModel(wire).id, body);
      expect([status, headers.get('x-tollgate-dropped')]).toEqual([
        200,
        expect.stringContaining('tools[0],'),
      ]);
      const text = JSON.stringify(sent);
      expect([...text.matchAll(/"name":"(\w+)"/g)].map(([, name]) => name).toSorted()).toEqual([
        'find',
        'row',
      ]);
      expect(text).toContain('Finds boats.');
    },
  );

  it.each<[Wire, object]>([
    ['chat-completions', { messages: [{ content: 'You pilot ships.' }, { role: 'user' }] }],
    ['messages', { system: 'You pilot ships.', messages: [{ role: 'user' }] }],
    [
      'generate-content',
      { systemInstruction: { parts: [{ text: 'You pilot ships.' }] }, contents: [{ role: 'user' }] },
    ],
  ])('leave the instructions behind them the first of the conversation on %s', async (wire, wanted) => {
    for (const kind of ['plain', 'thinking'] as const) {
      const instructions = { role: 'developer', content: 'You pilot ships.' };
      const input = [...offered(find).input.slice(1), instructions, user];
      const { status, headers, sent } = await harness.ask('responses', getModel(wire, kind).id, { input });
      expect([status, headers.get('x-tollgate-dropped')]).toEqual([200, null]);
      expect(sent).toMatchObject(wanted);
    }
  });

  it.each(wires)('in a namespace are called by their names on %s, as Codex needs it', async (wire) => {
    const freeform = wire === 'chat-completions' || wire === 'responses';
    const source = 'text("boats")';
    harness.vendors[wire].script(getModel(wire).upstream, {
      toolCalls: [
        { name: 'exec', freeform, arguments: freeform ? source : JSON.stringify({ input: source }) },
      ],
    });
    const exec = {
      type: 'custom',
      name: 'exec',
      format: { type: 'grammar', syntax: 'lark', definition: 'start: /.+/' },
    };
    const functions = { type: 'namespace', name: 'functions', description: '', tools: [exec, find] };
    const { status, text } = await harness.ask('responses', getModel(wire).id, offered(functions));
    expect(status).toBe(200);
    expect(JSON.parse(text)).toMatchObject({
      output: [{ type: 'custom_tool_call', name: 'exec', namespace: 'functions', input: source }],
    });
  });
});
