/** Any reply in canonical events, and any event of a provider's stream. */
import fc from 'fast-check';
import type { CanonicalEvent } from '../../core/index.ts';
import { text, word } from '../support/arbitrary.ts';
import { base64 } from './arbitrary.ts';

type Said =
  | { kind: 'text' | 'reasoning'; pieces: string[]; signature: string | null }
  | { kind: 'tool-call'; id: string; name: string; input: Record<string, unknown> };

const pieces = fc.array(fc.string({ unit: 'binary', minLength: 1, maxLength: 8 }), {
  minLength: 1,
  maxLength: 3,
});

const said: fc.Arbitrary<Said> = fc.oneof(
  fc.record({ kind: fc.constant('text' as const), pieces, signature: fc.constant(null) }),
  fc.record({ kind: fc.constant('reasoning' as const), pieces, signature: fc.option(base64) }),
  fc.record({
    kind: fc.constant('tool-call' as const),
    id: fc.uuid(),
    name: word,
    input: fc.dictionary(word, fc.oneof(text, fc.integer()), { maxKeys: 2 }).map((input) => ({ ...input })),
  }),
);

const ending = fc.constantFrom('stop' as const, 'length' as const, 'refusal' as const);

const usage = fc.record(
  {
    input: fc.integer({ min: 5000, max: 9999 }),
    output: fc.nat(9999),
    cacheRead: fc.nat(999),
    cacheWrite5m: fc.nat(99),
    cacheWrite1h: fc.nat(99),
    reasoning: fc.nat(999),
    webSearches: fc.nat(3),
  },
  { requiredKeys: ['input', 'output', 'cacheWrite5m'] },
);

/** Halves of a text: arguments arrive in pieces. */
function halves(whole: string): string[] {
  return [whole.slice(0, whole.length >> 1), whole.slice(whole.length >> 1)].filter((half) => half !== '');
}

function blockEvents(block: Said, number: number): CanonicalEvent[] {
  const place = { candidate: 0, block: number };
  const parts = block.kind === 'tool-call' ? halves(JSON.stringify(block.input)) : block.pieces;
  const facts = block.kind === 'tool-call' ? { id: block.id, name: block.name } : {};
  const sealed =
    block.kind === 'reasoning' && block.signature !== null
      ? { opaque: [{ vendor: 'anthropic', kind: 'signature', value: block.signature }] }
      : {};
  return [
    { type: 'block-start', ...place, kind: block.kind, ...facts },
    ...parts.map((piece): CanonicalEvent => ({ type: 'block-delta', ...place, text: piece })),
    { type: 'block-end', ...place, ...sealed },
  ];
}

/** Whole replies as any protocol's decoder may produce them; their calls may be interleaved. */
export const replyEvents = fc
  .tuple(fc.array(said, { maxLength: 4 }), ending, usage)
  .map(([blocks, unified, counted]): CanonicalEvent[] => {
    const calls = blocks.some(({ kind }) => kind === 'tool-call');
    const reason = { unified: calls && unified === 'stop' ? ('tool-calls' as const) : unified, raw: unified };
    return [
      { type: 'response-start' },
      ...blocks.flatMap(blockEvents),
      { type: 'usage', usage: counted },
      { type: 'finish', candidate: 0, reason },
      { type: 'response-end' },
    ];
  });

/** Values of every kind in the fields of an event, valid and invalid. */
const anything = fc.oneof(fc.jsonValue({ maxDepth: 2 }), text, fc.constantFrom(null, '', 0, [], {}));
const some = (...values: fc.Arbitrary<unknown>[]): fc.Arbitrary<unknown> => fc.oneof(anything, ...values);

const types = [
  'message_start',
  'content_block_start',
  'content_block_delta',
  'content_block_stop',
  'message_delta',
  'message_stop',
  'ping',
  'error',
  'later',
];

const parts = [
  'text',
  'thinking',
  'redacted_thinking',
  'tool_use',
  'server_tool_use',
  'text_delta',
  'thinking_delta',
  'input_json_delta',
  'signature_delta',
  'citations_delta',
];

const part = fc.record(
  {
    type: some(fc.constantFrom(...parts)),
    text: anything,
    thinking: anything,
    signature: anything,
    data: anything,
    id: anything,
    name: some(word),
    input: anything,
    partial_json: some(text),
    citation: some(fc.record({ url: anything, type: anything })),
    stop_reason: some(fc.constantFrom('end_turn', 'tool_use')),
  },
  { requiredKeys: [] },
);

/** What a provider that follows no rules may send. */
export const anyEvent = some(
  fc.record(
    {
      type: some(fc.constantFrom(...types)),
      index: some(fc.nat(2)),
      message: some(
        fc.record({ id: anything, model: anything, usage: anything, x_new: anything }, { requiredKeys: [] }),
      ),
      content_block: some(part),
      delta: some(part),
      usage: some(
        fc.record({ input_tokens: some(fc.nat()), output_tokens: some(fc.nat()), cache_creation: anything }),
      ),
      error: anything,
    },
    { requiredKeys: [] },
  ),
);
