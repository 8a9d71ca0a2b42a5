/** Any reply, in canonical events. */
import fc from 'fast-check';
import type { CanonicalEvent, Opaque } from '../../core/index.ts';
import { call, buildEvents, hasCall, pieces, type SaidBlock } from '../support/arbitrary-replies.ts';

/** One vendor seals calls, another reasoning. Only calls in one piece have their sealed state in time. */
function makeSeal({ kind, pieces: { length } }: SaidBlock): Opaque[] | undefined {
  if (kind === 'reasoning')
    return [{ vendor: length > 1 ? 'openai' : 'anthropic', kind: 'encrypted', value: 'c2VhbA==' }];
  if (kind !== 'tool-call' || length > 1) return undefined;
  return [{ vendor: 'google', kind: 'signature', value: 'c2lnbg==' }];
}

const said = fc
  .tuple(
    fc.oneof(
      fc.record({ kind: fc.constantFrom('text', 'reasoning', 'refusal' as const), pieces }),
      fc.record(
        { ...call, pieces, custom: fc.constant(true) },
        { requiredKeys: ['kind', 'id', 'name', 'pieces'] },
      ),
    ),
    fc.boolean(),
  )
  .map(([block, sealed]): SaidBlock => ({ ...block, ...(sealed ? { opaque: makeSeal(block) } : {}) }));

const ending = fc.constantFrom('stop', 'length', 'content-filter' as const);

const usage = fc.record({
  input: fc.nat(9999),
  output: fc.nat(9999),
  cacheRead: fc.nat(999),
  cacheWrite5m: fc.nat(999),
  reasoning: fc.nat(999),
});

/** Whole replies that any decoder may emit, with one candidate: this protocol has no more. */
export const replyEvents = fc
  .tuple(fc.array(said, { maxLength: 5 }), ending, usage)
  .map(([blocks, raw, counted]): CanonicalEvent[] => {
    const refused = blocks.some(({ kind }) => kind === 'refusal');
    const unified = raw !== 'stop' ? raw : hasCall(blocks) ? 'tool-calls' : refused ? 'refusal' : 'stop';
    return [
      { type: 'response-start' },
      ...blocks.flatMap((block, index) => buildEvents(block, index)),
      { type: 'usage', usage: counted },
      { type: 'finish', candidate: 0, reason: { unified, raw } },
      { type: 'response-end' },
    ];
  });
