/** The contract of protocols and its laws, for messages. */
import fc from 'fast-check';
import type { CanonicalEvent } from '../../core/index.ts';
import { testProtocol } from '../contract/protocol.ts';
import { recombine } from '../contract/recombination.ts';
import { call, buildEvents, hasCall, pieces } from '../support/arbitrary-replies.ts';
import { base64, text, word } from '../support/arbitrary.ts';
import { readRequests } from '../support/golden.ts';
import { isObject } from '../support/json.ts';
import { chooseModel, protocol, applyEdits, version } from './bodies.ts';

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
const replyEvents = fc
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

/** Of bodies with a budget to reason, only the cases are asked: beside some tools it is left out. */
const withoutBudget = readRequests('messages').filter(
  (body) => !isObject(body) || !isObject(body.thinking) || body.thinking.type !== 'enabled',
);

testProtocol({
  protocol,
  cases: new URL('../golden/messages/', import.meta.url),
  headers: version,
  model: chooseModel,
  sent: applyEdits,
  arbitrary: { request: recombine(withoutBudget), reply: replyEvents },
});
