/** Any reply in canonical events, and any chunk of a provider's stream. */
import fc from 'fast-check';
import { anything, call, buildCandidates, pieces, some } from '../support/arbitrary-replies.ts';
import { text, url, word } from '../support/arbitrary.ts';
import { detail } from './arbitrary-messages.ts';

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
