/** Any reply in canonical events, and any chunk of a provider's stream. */
import fc from 'fast-check';
import type { CanonicalEvent } from '../../core/index.ts';
import { text, word } from '../support/arbitrary.ts';
import { detail, url } from './arbitrary-messages.ts';

type Said =
  | { kind: 'text' | 'reasoning' | 'refusal'; pieces: string[] }
  | { kind: 'tool-call'; id: string; name: string; pieces: string[]; custom: boolean };

const pieces = fc.array(fc.string({ unit: 'binary', minLength: 1, maxLength: 8 }), {
  minLength: 1,
  maxLength: 3,
});

const said: fc.Arbitrary<Said> = fc.oneof(
  fc.record({ kind: fc.constantFrom('text', 'reasoning', 'refusal'), pieces }),
  fc.record({
    kind: fc.constant('tool-call' as const),
    id: fc.uuid(),
    name: word,
    pieces,
    custom: fc.boolean(),
  }),
);

const ending = fc.constantFrom('stop', 'length', 'content-filter' as const);

const usage = fc.record(
  { input: fc.nat(9999), output: fc.nat(9999), cacheRead: fc.nat(999), reasoning: fc.nat(999) },
  { requiredKeys: ['input', 'output'] },
);

/** The blocks of one candidate as events, numbered from `first`. */
function blockEvents(blocks: readonly Said[], candidate: number, first: number): CanonicalEvent[] {
  return blocks.flatMap((block, index): CanonicalEvent[] => {
    const place = { candidate, block: first + index };
    const facts =
      block.kind === 'tool-call'
        ? { id: block.id, name: block.name, ...(block.custom ? { custom: true } : {}) }
        : {};
    return [
      { type: 'block-start', ...place, kind: block.kind, ...facts },
      ...block.pieces.map((piece): CanonicalEvent => ({ type: 'block-delta', ...place, text: piece })),
      { type: 'block-end', ...place },
    ];
  });
}

/** Whole replies as any protocol's decoder may emit them. */
export const replyEvents = fc
  .tuple(
    fc.array(fc.tuple(fc.array(said, { maxLength: 4 }), ending), { minLength: 1, maxLength: 3 }),
    fc.option(usage, { nil: undefined }),
  )
  .map(([candidates, counted]): CanonicalEvent[] => {
    let blocks = 0;
    const bodies = candidates.map(([list, unified], candidate): CanonicalEvent[] => {
      const events = blockEvents(list, candidate, blocks);
      blocks += list.length;
      const calls = list.some(({ kind }) => kind === 'tool-call');
      return [
        ...events,
        {
          type: 'finish',
          candidate,
          reason: { unified: calls && unified === 'stop' ? 'tool-calls' : unified, raw: unified },
        },
      ];
    });
    return [
      { type: 'response-start' },
      ...bodies.flat(),
      ...(counted ? [{ type: 'usage' as const, usage: counted }] : []),
      { type: 'response-end' },
    ];
  });

/** Valid and invalid values for the fields of a chunk. */
const anything = fc.oneof(fc.jsonValue({ maxDepth: 2 }), text, fc.constantFrom(null, '', 0, [], {}));
const some = (...values: fc.Arbitrary<unknown>[]): fc.Arbitrary<unknown> => fc.oneof(anything, ...values);

const fragment = fc.record(
  {
    index: some(fc.nat(2)),
    id: some(word),
    function: some(fc.record({ name: some(word), arguments: some(text) }, { requiredKeys: [] })),
    custom: anything,
    extra_content: anything,
  },
  { requiredKeys: [] },
);

const delta = fc.record(
  {
    content: some(text),
    refusal: some(text),
    reasoning: some(text),
    reasoning_details: some(fc.array(some(detail), { maxLength: 2 })),
    tool_calls: some(fc.array(some(fragment), { maxLength: 2 })),
    function_call: some(fragment),
    audio: some(fc.record({ id: anything, data: anything, transcript: text }, { requiredKeys: [] })),
    images: some(
      fc.array(some(fc.record({ image_url: some(fc.record({ url: some(url) })) })), { maxLength: 2 }),
    ),
    annotations: some(
      fc.array(some(fc.record({ type: anything, url_citation: anything })), { maxLength: 2 }),
    ),
  },
  { requiredKeys: [] },
);

const choice = fc.record(
  {
    index: some(fc.nat(2)),
    delta: some(delta),
    message: some(delta),
    finish_reason: some(fc.constantFrom('stop', 'length', 'tool_calls')),
    logprobs: some(fc.record({ content: some(fc.array(anything)), refusal: anything })),
  },
  { requiredKeys: [] },
);

/** Chunks of a provider that follows no rules. */
export const anyChunk = some(
  fc.record(
    {
      id: anything,
      created: anything,
      model: anything,
      choices: some(fc.array(some(choice), { maxLength: 2 })),
      usage: some(
        fc.record({
          prompt_tokens: anything,
          completion_tokens: some(fc.nat()),
          total_tokens: some(fc.nat()),
        }),
      ),
      x_new: anything,
    },
    { requiredKeys: [] },
  ),
);
