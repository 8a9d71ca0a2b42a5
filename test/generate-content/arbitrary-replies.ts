/** Any reply, in canonical events. */
import fc from 'fast-check';
import { call, buildCandidates, pieces, type SaidBlock } from '../support/arbitrary-replies.ts';
import { word } from '../support/arbitrary.ts';

const values = fc.dictionary(word, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 2 });

const block = fc.oneof(
  fc.record({ kind: fc.constantFrom('text', 'reasoning' as const), pieces }),
  fc.record({ ...call, pieces: values.map((args) => [JSON.stringify(args)]) }),
);

/** Blocks of one candidate; never two text blocks in a row, which no stream can separate. */
const said = fc.array(fc.tuple(block, fc.boolean()), { maxLength: 4 }).map((all): SaidBlock[] =>
  all
    .filter(([{ kind }], index) => kind === 'tool-call' || kind !== all[index - 1]?.[0].kind)
    .map(([one, sealed], index) => {
      const vendor = index % 2 ? 'anthropic' : 'google';
      return sealed ? { ...one, opaque: [{ vendor, kind: 'signature', value: 'c2VhbA==' }] } : one;
    }),
);

const usage = fc
  .record({
    prompt: fc.nat(9999),
    toolPrompt: fc.nat(99),
    visible: fc.nat(9999),
    reasoning: fc.nat(999),
    cacheRead: fc.nat(99),
  })
  .map(({ prompt, visible, ...known }) => ({
    ...known,
    input: prompt + known.toolPrompt,
    output: visible + known.reasoning,
  }));

/** Whole replies as any protocol's decoder may return them. */
export const replyEvents = buildCandidates(said, usage);
