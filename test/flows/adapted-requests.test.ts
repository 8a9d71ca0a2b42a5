/**
 * Requests that are legal on their own wire and that another wire's provider would refuse unchanged. The
 * gateway adapts each and reports the loss, or refuses it by the name of its field. The providers refuse what
 * the real ones do.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { readCases } from '../support/cases.ts';
import { keepReply, buildUserEntry, buildConversation } from '../support/continue-conversation.ts';
import {
  getModel,
  openFourWires,
  wires,
  type Crossing,
  type Kind,
  type FourWires,
  type Wire,
} from '../support/four-wires.ts';
import { isObject } from '../support/json.ts';

let harness: FourWires;
beforeAll(async () => {
  harness = await openFourWires();
});

type Body = Readonly<Record<string, unknown>>;

const say = (content: unknown): Body => ({ role: 'user', content });

const calls = (...made: readonly (readonly [id: string, name: string, given?: string])[]): Body => ({
  role: 'assistant',
  content: null,
  tool_calls: made.map(([id, name, given = '{}']) => ({
    id,
    type: 'function',
    function: { name, arguments: given },
  })),
});

const result = (id: string, content: string): Body => ({ role: 'tool', tool_call_id: id, content });

const hi: Body = { messages: [say('Hi')] };

interface Case {
  /** chat-completions, if it is not stated. */
  readonly client?: Wire;
  readonly body: Body;
  /** The path reported as lost: by every other wire, or by the wire that loses it. */
  readonly lost?: string | Partial<Readonly<Record<Wire, string>>>;
}

type Refused = readonly [title: string, client: Wire, to: Wire, body: Body, param: string];

const { adapted, refused } = readCases<{
  readonly adapted: Readonly<Record<string, Case>>;
  readonly refused: readonly Refused[];
}>('adapted-requests.json', import.meta.url);

function readDropped({ headers }: Crossing): string[] {
  return headers.get('x-tollgate-dropped')?.split(',') ?? [];
}

describe.each(Object.entries(adapted))('%s', (_, { client = 'chat-completions', body, lost }) => {
  const kinds: readonly Kind[] = ['plain', 'thinking'];
  const targets = wires.filter((wire) => wire !== client);

  it.each(targets)('is accepted by a vendor of %s, and reports its losses', async (wire) => {
    for (const kind of kinds) {
      const { id } = getModel(wire, kind);
      const crossed = await harness.ask(client, id, body);
      expect(crossed.status, `${id}: ${crossed.text}`).toBe(200);
      const message = typeof lost === 'string' ? lost : lost?.[wire];
      if (message !== undefined) expect(readDropped(crossed), id).toContain(message);
    }
  });
});

it.each(refused)(
  'a request that cannot be adapted is refused by the name of its field: %s',
  async (_, client, wire, body, param) => {
    const crossed = await harness.ask(client, getModel(wire).id, body);
    expect(crossed.status, crossed.text).toBe(400);
    expect(crossed.sent).toBeUndefined();
    expect(crossed.end).toMatchObject({ error: { details: { param } } });
  },
);

function readMessages(body: unknown): readonly unknown[] {
  return typeof body === 'object' && body && 'messages' in body && Array.isArray(body.messages)
    ? body.messages
    : [];
}

const tools = ['look', 'hear'].map((name) => ({ type: 'function', function: { name } }));
const first = [
  say('Go'),
  calls(['call_0', 'look'], ['call_1', 'hear']),
  result('call_1', 'b'),
  result('call_0', 'a'),
];
const second = [...first, calls(['call_0', 'hear']), result('call_0', 'c')];
const sendMessages = async (wire: Wire, messages: readonly Body[]): Promise<unknown> =>
  (await harness.ask('chat-completions', getModel(wire).id, { tools, messages })).sent;

it('a step that reuses ids keeps each result with its call, and earlier messages as they are', async () => {
  const messages = readMessages(await sendMessages('messages', second));
  expect(messages.at(-1)).toMatchObject({ content: [{ tool_use_id: 'call_0_2', content: 'c' }] });
  expect(messages.slice(0, 3)).toEqual(readMessages(await sendMessages('messages', first)));
});

it('a step that reuses ids answers the function that was called where pairs go by name', async () => {
  expect(JSON.stringify(await sendMessages('generate-content', second))).toMatch(
    /"name":"hear","response":\{"output":"c"\}/,
  );
});

it('loses nothing by an empty list, a switch that is off, or reasoning that is off', async () => {
  const generationConfig = { responseLogprobs: false, thinkingConfig: { thinkingBudget: 0 } };
  const { end, sent } = await harness.ask('generate-content', getModel('responses', 'thinking').id, {
    contents: [{ parts: [{ text: 'Hi' }] }],
    generationConfig,
    safetySettings: [],
  });
  expect(sent).toMatchObject({ reasoning: { effort: 'none' } });
  expect(end).toMatchObject({ losses: [] });
  const penalties = { frequency_penalty: 0, presence_penalty: 0 };
  const chat = await harness.ask('chat-completions', getModel('responses').id, { ...hi, ...penalties });
  expect(chat.end).toMatchObject({ losses: [] });
});

it.each([
  ['chat-completions', 'responses'],
  ['responses', 'chat-completions'],
] as const)('a call without arguments of a %s provider reaches a %s client as JSON', async (wire, client) => {
  const { id, upstream } = getModel(wire);
  harness.vendors[wire].script(upstream, { toolCalls: [{ name: 'look', arguments: '' }] });
  for (const stream of [false, true]) {
    const { text } = await harness.ask(client, id, client === 'responses' ? { input: 'Go' } : hi, stream);
    expect(text).toContain('"arguments":"{}"');
  }
  harness.vendors[wire].unscript();
});

describe.each(['', ' \n'])('a reply of nothing but "%s"', (text) => {
  it.each(wires)('can be sent back by a client of %s to every vendor', async (client) => {
    const { id, upstream } = getModel('chat-completions');
    const limit = client === 'messages' ? { max_tokens: 100 } : {};
    harness.vendors['chat-completions'].script(upstream, { text });
    const reply: unknown = JSON.parse(
      (
        await harness.ask(client, id, {
          ...limit,
          ...buildConversation(client, [buildUserEntry(client, 'Hi')]),
        })
      ).text,
    );
    harness.vendors['chat-completions'].unscript();
    const history = [
      buildUserEntry(client, 'Hi'),
      ...(isObject(reply) ? keepReply(client, reply) : []),
      buildUserEntry(client, 'Well?'),
    ];
    for (const wire of wires) {
      const crossed = await harness.ask(client, getModel(wire).id, {
        ...limit,
        ...buildConversation(client, history),
      });
      expect(crossed.status, `${wire}: ${crossed.text}`).toBe(200);
    }
  });
});
