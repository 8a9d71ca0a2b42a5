/** The fake Anthropic accepts, refuses and replies as the real one does, with the same error messages. */
import { describe, it } from 'vitest';
import { pixel } from '../support/vendor/improvise.ts';
import {
  model,
  user,
  tool,
  use,
  result,
  assistant,
  answer,
  say,
  text,
  mark,
  type Change,
  useAnthropic,
  isRefused,
} from './messages-requests.ts';

const image = (source: object) => say(answer({ type: 'image', source }));
useAnthropic();

const wrongContents: Record<string, Change> = {
  'no max_tokens': [{ max_tokens: undefined }, 'max_tokens: Field required'],
  'no messages': [{ messages: [] }, 'messages: List should have at least 1 item after validation'],
  'an unknown field': [{ provider: { order: [] } }, 'provider: Extra inputs are not permitted'],
  'a field of chat-completions': [{ n: 1 }, 'n: Extra inputs are not permitted'],
  'an unknown field of a message': [
    { messages: [{ ...user, name: 'Ann' }] },
    'messages.0.name: Extra inputs are not permitted',
  ],
  'an unknown field of a block': [
    say(answer(text('a', { at: 1 }))),
    /^messages\.1\.content\.0\.at: Extra inputs/,
  ],
  'an unknown field of a tool': [
    { tools: [{ ...tool, parameters: {} }] },
    /^tools\.0\.parameters: Extra inputs/,
  ],
  'a field of a beta that was not named': [
    { context_management: {} },
    'context_management: Extra inputs are not permitted',
  ],
  'max_tokens as text': [{ max_tokens: '5' }, 'max_tokens: Input should be a valid number'],
  'more tokens than the model has': [
    { max_tokens: 64_001 },
    `max_tokens: 64001 > 64000, which is the maximum allowed number of output tokens for ${model}`,
  ],
  'a temperature above one': [{ temperature: 1.5 }, 'temperature: Input should be less than or equal to 1'],
  'temperature beside top_p': [{ temperature: 0.5, top_p: 0.5 }, /cannot both be specified/],
  'a temperature for a model that takes none': [
    { model: 'claude-sonnet-5', temperature: 0.5 },
    /`temperature` is not supported/,
  ],
  'top_k for a model that takes none': [{ model: 'claude-sonnet-5', top_k: 5 }, /`top_k` is not supported/],
  'an unknown role': [{ messages: [{ role: 'tool', content: 'x' }] }, /^messages\.0\.role: /],
  'an assistant turn first': [
    { messages: [assistant(text('a'))] },
    'messages: first message must use the "user" role',
  ],
  'a system message between turns': [
    say(assistant(text('a')), { role: 'system', content: 'x' }, user),
    "messages.2.role: Input should be 'user' or 'assistant'",
  ],
  'an empty text block': [say(answer(text(''))), 'messages: text content blocks must be non-empty'],
  'a text block of spaces': [
    say(answer(text(' \n'))),
    'messages: text content blocks must contain non-whitespace text',
  ],
  'an empty text in a tool result': [
    say(assistant(use('a')), answer(result('a', { content: [text('')] }))),
    'messages: text content blocks must be non-empty',
  ],
  'a message without content': [
    { messages: [{ role: 'user', content: [] }] },
    /^messages\.0: all messages must have non-empty content/,
  ],
  'a prefill for a model that takes none': [
    { model: 'claude-opus-4-6', ...say(assistant(text('a'))) },
    /does not support assistant message prefill/,
  ],
  'a prefill that ends in a space': [
    say(assistant(text('a '))),
    'messages: final assistant content cannot end with trailing whitespace',
  ],
  'a tool id longer than 64': [
    say(assistant(use('x'.repeat(65))), answer(result('x'.repeat(65)))),
    /^messages\.1\.content\.0\.id: String should have at most 64/,
  ],
  'a tool id outside the charset': [
    say(assistant(use('call.1')), answer(result('call.1'))),
    "messages.1.content.0.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
  ],
  'a call without a result': [
    say(assistant(use('a'), use('b')), answer(result('a'))),
    /^messages\.1: `tool_use` ids were found without `tool_result` blocks immediately after: b\./,
  ],
  'a call without a result at the end': [
    say(assistant(use('a'))),
    /ids were found without `tool_result` blocks/,
  ],
  'a result without a call': [
    say(answer(result('a'))),
    /unexpected `tool_use_id` found in `tool_result` blocks: a/,
  ],
  'a result one turn late': [
    say(assistant(use('a')), user, assistant(text('b')), answer(result('a'))),
    /^messages\.1: `tool_use` ids/,
  ],
  'a result given twice': [
    say(assistant(use('a')), answer(result('a'), result('a'))),
    /must have a single result/,
  ],
  'a result after a text': [say(assistant(use('a')), answer(text('so'), result('a'))), /must come first/],
  'two calls of one id': [
    say(assistant(use('a')), answer(result('a')), assistant(use('a')), answer(result('a'))),
    /ids must be unique/,
  ],
  'an error with an image': [
    say(
      assistant(use('a')),
      answer(
        result('a', {
          is_error: true,
          content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } }],
        }),
      ),
    ),
    /all content must be type `text` if `is_error` is true/,
  ],
  'arguments as text': [
    say(assistant(use('a', { input: '{}' })), answer(result('a'))),
    'messages.1.content.0.input: Input should be a valid dictionary',
  ],
  'a forged signature': [
    say(
      assistant(
        { type: 'thinking', thinking: 'Hm.', signature: Buffer.from('forged').toString('base64') },
        text('a'),
      ),
      user,
    ),
    'messages.1.content.0: Invalid `signature` in `thinking` block',
  ],
  'forged redacted thinking': [
    say(assistant({ type: 'redacted_thinking', data: 'AAAA' }, text('a')), user),
    'messages.1.content.0: Invalid `data` in `redacted_thinking` block',
  ],
  'thoughts without a signature': [
    say(assistant({ type: 'thinking', thinking: 'Hm.' }, text('a')), user),
    'messages.1.content.0.signature: Field required',
  ],
  'a tool loop that lost its thoughts': [
    {
      thinking: { type: 'enabled', budget_tokens: 1024 },
      max_tokens: 2000,
      ...say(assistant(use('a')), answer(result('a'))),
    },
    /^messages\.1\.content\.0\.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`/,
  ],
  'a budget below the least': [
    { thinking: { type: 'enabled', budget_tokens: 1000 }, max_tokens: 2000 },
    'thinking.budget_tokens: Input should be greater than or equal to 1024',
  ],
  'a budget as large as the limit': [
    { thinking: { type: 'enabled', budget_tokens: 2000 }, max_tokens: 2000 },
    /^`max_tokens` must be greater than `thinking\.budget_tokens`/,
  ],
  'a forced tool while thinking': [
    {
      thinking: { type: 'enabled', budget_tokens: 1024 },
      max_tokens: 2000,
      tools: [tool],
      tool_choice: { type: 'any' },
    },
    'Thinking may not be enabled when tool_choice forces tool use.',
  ],
  'a temperature while thinking': [
    { thinking: { type: 'enabled', budget_tokens: 1024 }, max_tokens: 2000, temperature: 0.5 },
    /may only be set to 1 when thinking is enabled/,
  ],
  'a budget for a model that thinks by itself': [
    { model: 'claude-sonnet-5', thinking: { type: 'enabled', budget_tokens: 1024 }, max_tokens: 2000 },
    /^`thinking\.type\.enabled` is not supported/,
  ],
  'adaptive thinking for a model with a budget': [
    { thinking: { type: 'adaptive' } },
    'adaptive thinking is not supported on this model',
  ],
  'thinking off for a model that always thinks': [
    { model: 'claude-fable-5', thinking: { type: 'disabled' } },
    /disabled` is not supported/,
  ],
  'an effort the model does not have': [
    { model: 'claude-opus-4-6', output_config: { effort: 'xhigh' } },
    "This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium.",
  ],
  'an effort for a model without': [
    { output_config: { effort: 'low' } },
    'This model does not support the effort parameter.',
  ],
  'five cache marks': [
    { messages: [answer(...['a', 'b', 'c', 'd', 'e'].map((word) => text(word, mark())))] },
    'A maximum of 4 blocks with cache_control may be provided. Found 5.',
  ],
  'a mark of an hour after one of minutes': [
    { messages: [answer(text('a', mark()), text('b', mark('1h')))] },
    /must not come after a ttl='5m'/,
  ],
  'a lifetime that does not exist': [
    { messages: [answer(text('a', mark('2h')))] },
    "messages.0.content.0.cache_control.ttl: Input should be '5m' or '1h'",
  ],
  'a mark on thoughts': [
    say(assistant({ type: 'thinking', thinking: 'a', signature: 'a', ...mark() }, text('a')), user),
    /cache_control: Extra inputs/,
  ],
  'base64 of the other alphabet': [
    image({ type: 'base64', media_type: 'image/png', data: '_-8=' }),
    /Invalid base64 data/,
  ],
  'base64 with its prefix': [
    image({ type: 'base64', media_type: 'image/png', data: `data:image/png;base64,${pixel}` }),
    /Invalid base64 data/,
  ],
  'a picture under another name': [
    image({ type: 'base64', media_type: 'image/jpeg', data: pixel }),
    /the image appears to be a image\/png image/,
  ],
  'a picture that is none': [
    image({ type: 'base64', media_type: 'image/png', data: 'AAAA' }),
    /Could not process image/,
  ],
  'a picture of another kind': [
    image({ type: 'base64', media_type: 'image/tiff', data: pixel }),
    /media_type: Input should be 'image\/jpeg'/,
  ],
  'a picture without TLS': [
    image({ type: 'url', url: 'http://example.com/a.png' }),
    /url: String should match/,
  ],
  'a document that is no PDF': [
    say(
      answer({ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' } }),
    ),
    /The PDF specified was not valid/,
  ],
  'an image by the assistant': [
    say(assistant({ type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }), user),
    /messages\.1\.content\.0/,
  ],
};

describe('the fake Anthropic, asked something wrong', () => {
  it.each(Object.entries(wrongContents))('refuses it as the real one does: %s', isRefused);
});
