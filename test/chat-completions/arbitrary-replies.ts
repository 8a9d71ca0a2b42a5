/** Any reply, in canonical events. */
import fc from 'fast-check';
import { call, buildCandidates, pieces } from '../support/arbitrary-replies.ts';

const said = fc.oneof(
  fc.record({ kind: fc.constantFrom('text', 'reasoning', 'refusal' as const), pieces }),
  fc.record(
    { ...call, pieces, custom: fc.constant(true) },
    { requiredKeys: ['kind', 'id', 'name', 'pieces'] },
  ),
);

const usage = fc.record(
  { input: fc.nat(9999), output: fc.nat(9999), cacheRead: fc.nat(999), reasoning: fc.nat(999) },
  { requiredKeys: ['input', 'output'] },
);

/** Whole replies as any protocol's decoder may emit them. */
export const replyEvents = buildCandidates(fc.array(said, { maxLength: 4 }), usage);
