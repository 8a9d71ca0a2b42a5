/**
 * Any conversation, moved between providers at random, even in the middle of a tool loop, and back: whatever
 * was said before, by whom and under which signature, no provider ever receives a request it refuses.
 */
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { chart, offerTools, tide } from '../matrix/spelling.ts';
import {
  answerCalls,
  keepReply,
  buildUserEntry,
  buildConversation,
  type Entry,
} from '../support/continue-conversation.ts';
import {
  getModel,
  openFourWires,
  wires,
  type Kind,
  type FourWires,
  type Wire,
} from '../support/four-wires.ts';
import type { Json } from '../support/json.ts';
import { hear, joinStream } from '../support/listen.ts';
import type { Scenario } from '../support/vendor/scenario.ts';

let harness: FourWires;
beforeAll(async () => {
  harness = await openFourWires();
});

/** One reply on the way: who gives it, what it says, and whether it is streamed. */
interface Step {
  readonly wire: Wire;
  readonly kind: Kind;
  readonly scenario: Scenario;
  readonly stream: boolean;
}

const calls = [
  { name: 'tide_at', arguments: '{"harbour":"Hull"}' },
  { name: 'tide_at', arguments: '{"harbour":"Whitby"}' },
  { name: 'chart_of', arguments: '{"harbour":"Oslo"}' },
];
const scenarios: readonly Scenario[] = [
  { text: 'Good day.' },
  { reasoning: 'The moon decides.', text: 'At noon.' },
  { reasoning: 'Hm.', sealed: true, text: 'At noon.' },
  { toolCalls: calls.slice(0, 1) },
  { text: 'I look.', toolCalls: calls },
  { reasoning: 'I have to look.', toolCalls: calls, interleaved: true },
  { reasoning: 'I have to look.', text: 'I look.', toolCalls: calls.slice(1) },
  { reasoning: 'Hm.', sealed: true, toolCalls: calls.slice(0, 2) },
  { text: '', toolCalls: [{ name: 'tide_at', arguments: '{}' }] },
];
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    wire: fc.constantFrom(...wires),
    kind: fc.constantFrom<Kind[]>('plain', 'thinking'),
    scenario: fc.constantFrom(...scenarios),
    stream: fc.boolean(),
  }),
  { minLength: 2, maxLength: 5 },
);

/** What a client asks beside the conversation: to reason, if the model can. */
const settings: Readonly<Record<Wire, (kind: Kind) => object>> = {
  'chat-completions': (kind) => (kind === 'thinking' ? { reasoning_effort: 'low' } : {}),
  responses: (kind) =>
    kind === 'thinking'
      ? {
          reasoning: { effort: 'low', summary: 'auto' },
          include: ['reasoning.encrypted_content'],
          store: false,
        }
      : {},
  messages: (kind) => ({
    max_tokens: 4000,
    ...(kind === 'thinking' ? { thinking: { type: 'adaptive', display: 'summarized' } } : {}),
  }),
  'generate-content': (kind) =>
    kind === 'thinking' ? { generationConfig: { thinkingConfig: { includeThoughts: true } } } : {},
};

/**
 * Which of a provider's models takes a step: the gateway does not help Google's own clients from a Gemini
 * model without signatures to one that requires them.
 */
function chooseKind(client: Wire, { wire, kind }: Step, way: readonly Step[]): Kind {
  if (client !== 'generate-content' || wire !== client) return kind;
  return way.find((step) => step.wire === wire)?.kind ?? kind;
}

async function converse(client: Wire, way: readonly Step[]): Promise<void> {
  const entries: Entry[] = [buildUserEntry(client, 'When are the tides?')];
  for (const [index, step] of way.entries()) {
    const { wire, scenario, stream } = step;
    const kind = chooseKind(client, step, way);
    const { id, upstream } = getModel(wire, kind);
    harness.vendors[wire].script(upstream, scenario);
    const body = {
      ...offerTools(tide, chart)[client],
      ...settings[client](kind),
      ...buildConversation(client, entries),
    };
    const crossing = await harness.ask(client, id, body, stream);
    const place =
      `step ${index}, ${client} to ${wire} (${kind}${stream ? ', streamed' : ''}): ` +
      `${crossing.text.slice(0, 500)}\nsent: ${JSON.stringify(crossing.sent)}`;
    expect([crossing.status, crossing.end.type === 'answered' && crossing.end.outcome], place).toEqual([
      200,
      'completed',
    ]);
    const reply: Json = stream ? joinStream(client, crossing.text) : JSON.parse(crossing.text);
    expect(
      hear(client, reply).calls.map(({ name }) => name),
      place,
    ).toEqual((scenario.toolCalls ?? []).map(({ name }) => name));
    entries.push(
      ...keepReply(client, reply),
      ...answerCalls(client, reply, ({ input }) => `noon at ${JSON.stringify(input)}`),
    );
    if (!scenario.toolCalls) entries.push(buildUserEntry(client, 'And then?'));
  }
}

it.each(wires)('a %s client takes any conversation to any provider', async (client) => {
  await fc.assert(
    fc.asyncProperty(steps, (way) => converse(client, way)),
    { numRuns: Number(process.env.MOVES ?? 16) },
  );
});

describe.each(wires)('a %s client', (client) => {
  const pairs = wires.flatMap((first) =>
    wires.filter((second) => second !== first).map((second): [Wire, Wire] => [first, second]),
  );

  it.each(pairs)(
    'takes a tool loop between reasoning models from %s to %s and back',
    async (first, second) => {
      const loop: Scenario = { reasoning: 'I have to look.', text: 'I look.', toolCalls: calls };
      const step = (wire: Wire, scenario: Scenario): Step => ({
        wire,
        scenario,
        kind: 'thinking',
        stream: true,
      });
      await converse(client, [
        step(first, loop),
        step(second, loop),
        step(first, loop),
        step(second, { text: 'At noon.' }),
        step(first, { text: 'Aye.' }),
      ]);
    },
  );
});
