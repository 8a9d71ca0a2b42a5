/** Any reply in canonical events, and any event of a provider's stream. */
import fc from 'fast-check';
import type { CanonicalEvent } from '../../core/index.ts';
import { anything, call, buildEvents, hasCall, pieces, some } from '../support/arbitrary-replies.ts';
import { base64, text, word } from '../support/arbitrary.ts';

/** Halves of a text: arguments arrive in pieces. */
function halve(whole: string): string[] {
  return [whole.slice(0, whole.length >> 1), whole.slice(whole.length >> 1)].filter((half) => half !== '');
}

const input = fc.dictionary(word, fc.oneof(text, fc.integer()), { maxKeys: 2 });
const signature = base64.map((value) => [{ vendor: 'anthropic', kind: 'signature', value }]);
const said = fc.oneof(
  fc.record({ kind: fc.constant('text' as const), pieces }),
  fc.record(
    { kind: fc.constant('reasoning' as const), pieces, opaque: signature },
    { requiredKeys: ['kind', 'pieces'] },
  ),
  fc.record({ ...call, pieces: input.map((args) => halve(JSON.stringify(args))) }),
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

/** Whole replies as any protocol's decoder may produce them; their calls may be interleaved. */
export const replyEvents = fc
  .tuple(fc.array(said, { maxLength: 4 }), ending, usage)
  .map(([blocks, raw, counted]): CanonicalEvent[] => [
    { type: 'response-start' },
    ...blocks.flatMap((block, index) => buildEvents(block, index)),
    { type: 'usage', usage: counted },
    {
      type: 'finish',
      candidate: 0,
      reason: { unified: hasCall(blocks) && raw === 'stop' ? 'tool-calls' : raw, raw },
    },
    { type: 'response-end' },
  ]);

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
