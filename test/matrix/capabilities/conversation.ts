/** Who says what: system text, turns, names, cache marks. */
import { meetsAll, meetsAny, fillWires, has, holds, mentions, type Capability } from '../capability.ts';
import { spellTurns } from '../spelling.ts';

const rule = 'Be brief.';
const spoken = {
  'chat-completions': mentions('Good day.'),
  responses: mentions('Good day.'),
  messages: mentions('Good day.'),
  'generate-content': mentions('Good day.'),
};
const userContent = [{ type: 'text', text: 'Ahoy' }];
const longPrompt = 'The harbour log says much. '.repeat(60);

function markPrompt(ttl?: '1h'): object {
  return {
    system: [
      { type: 'text', text: longPrompt, cache_control: { type: 'ephemeral', ...(ttl ? { ttl } : {}) } },
    ],
  };
}

export const conversations: readonly Capability[] = [
  {
    name: 'text',
    ask: fillWires({}),
    got: fillWires(mentions('Ahoy')),
    does: fillWires({ text: 'Good day.' }),
    shown: spoken,
  },
  {
    name: 'system prompt',
    ask: {
      'chat-completions': {
        messages: [
          { role: 'system', content: rule },
          { role: 'user', content: 'Ahoy' },
        ],
      },
      responses: { instructions: rule },
      messages: { system: rule },
      'generate-content': { systemInstruction: { parts: [{ text: rule }] } },
    },
    got: {
      'chat-completions': holds({ role: 'system', content: rule }),
      responses: (body) => body.instructions === rule || holds({ role: 'system', content: rule })(body),
      messages: (body) => body.system === rule || holds({ system: [{ text: rule }] })(body),
      'generate-content': holds({ systemInstruction: { parts: [{ text: rule }] } }),
    },
  },
  {
    name: 'developer message',
    ask: {
      'chat-completions': {
        messages: [
          { role: 'developer', content: rule },
          { role: 'user', content: 'Ahoy' },
        ],
      },
      responses: {
        input: [
          { role: 'developer', content: rule },
          { role: 'user', content: 'Ahoy' },
        ],
      },
    },
    got: {
      'chat-completions': holds({ role: 'developer', content: rule }),
      responses: holds({ role: 'developer', content: rule }),
    },
    instead: {
      messages: (body) => body.system === rule || holds({ system: [{ text: rule }] })(body),
      'generate-content': holds({ systemInstruction: { parts: [{ text: rule }] } }),
    },
  },
  {
    name: 'system message in mid-conversation',
    model: 'thinking',
    ask: {
      'chat-completions': {
        messages: [
          { role: 'user', content: 'Ahoy' },
          { role: 'assistant', content: 'Aye.' },
          { role: 'system', content: rule },
          { role: 'user', content: 'Well?' },
        ],
      },
      responses: {
        input: [
          { role: 'user', content: 'Ahoy' },
          { role: 'assistant', content: 'Aye.' },
          { role: 'system', content: rule },
          { role: 'user', content: 'Well?' },
        ],
      },
      // This vendor takes it after a turn of the user's.
      messages: {
        messages: [
          { role: 'user', content: 'Ahoy' },
          { role: 'assistant', content: 'Aye.' },
          { role: 'user', content: 'Well?' },
          { role: 'system', content: rule },
        ],
      },
    },
    got: {
      'chat-completions': holds({ role: 'system', content: rule }),
      responses: holds({ role: 'system', content: rule }),
      messages: meetsAny(
        holds({ role: 'system', content: rule }),
        holds({ role: 'system', content: [{ text: rule }] }),
      ),
    },
    instead: { 'generate-content': mentions(rule) },
  },
  {
    name: 'several turns',
    ask: spellTurns({ user: 'Ahoy' }, { assistant: 'Aye.' }, { user: 'Well?' }),
    got: {
      'chat-completions': has({
        messages: [{ role: 'user' }, { role: 'assistant', content: 'Aye.' }, { role: 'user' }],
      }),
      responses: has({ input: [{ role: 'user' }, { role: 'assistant' }, { role: 'user' }] }),
      messages: has({ messages: [{ role: 'user' }, { role: 'assistant' }, { role: 'user' }] }),
      'generate-content': has({ contents: [{ role: 'user' }, { role: 'model' }, { role: 'user' }] }),
    },
  },
  {
    name: 'prefilled answer',
    ask: spellTurns({ user: 'Ahoy' }, { assistant: 'Aye, and' }),
    got: {
      'chat-completions': has({ messages: [{ role: 'user' }, { role: 'assistant', content: 'Aye, and' }] }),
      messages: has({ messages: [{ role: 'user' }, { role: 'assistant' }] }),
      'generate-content': has({ contents: [{ role: 'user' }, { role: 'model' }] }),
    },
    instead: { responses: mentions('Aye, and') },
    // On responses it is a turn like any other.
    possible: (client, wire) => client !== 'responses' && wire !== 'responses',
  },
  {
    name: 'participant names',
    ask: { 'chat-completions': { messages: [{ role: 'user', name: 'Ada', content: 'Ahoy' }] } },
    got: { 'chat-completions': holds({ role: 'user', name: 'Ada' }) },
  },
  {
    name: 'cache breakpoints',
    model: 'thinking',
    ask: {
      'chat-completions': {
        messages: [
          {
            role: 'user',
            content: [{ type: 'text', text: longPrompt, prompt_cache_breakpoint: { mode: 'explicit' } }],
          },
        ],
      },
      responses: {
        input: [
          {
            role: 'user',
            content: [
              { type: 'input_text', text: longPrompt, prompt_cache_breakpoint: { mode: 'explicit' } },
            ],
          },
        ],
      },
      messages: markPrompt(),
    },
    got: {
      'chat-completions': holds({ prompt_cache_breakpoint: { mode: 'explicit' } }),
      responses: holds({ prompt_cache_breakpoint: { mode: 'explicit' } }),
      messages: holds({ cache_control: { type: 'ephemeral' } }),
    },
  },
  {
    name: 'cache breakpoints for an hour',
    model: 'thinking',
    ask: { messages: markPrompt('1h') },
    got: { messages: holds({ cache_control: { type: 'ephemeral', ttl: '1h' } }) },
    instead: {
      'chat-completions': holds({ prompt_cache_breakpoint: { mode: 'explicit' } }),
      responses: holds({ prompt_cache_breakpoint: { mode: 'explicit' } }),
    },
  },
  {
    name: 'prompt cache key',
    ask: { 'chat-completions': { prompt_cache_key: 'harbour' }, responses: { prompt_cache_key: 'harbour' } },
    got: {
      'chat-completions': has({ prompt_cache_key: 'harbour' }),
      responses: has({ prompt_cache_key: 'harbour' }),
    },
  },
  {
    name: 'text in several parts',
    ask: {
      'chat-completions': {
        messages: [{ role: 'user', content: [...userContent, { type: 'text', text: 'there' }] }],
      },
      responses: {
        input: [
          {
            role: 'user',
            content: [
              { type: 'input_text', text: 'Ahoy' },
              { type: 'input_text', text: 'there' },
            ],
          },
        ],
      },
      messages: { messages: [{ role: 'user', content: [...userContent, { type: 'text', text: 'there' }] }] },
      'generate-content': { contents: [{ role: 'user', parts: [{ text: 'Ahoy' }, { text: 'there' }] }] },
    },
    got: fillWires(meetsAll(mentions('Ahoy'), mentions('there'))),
  },
  {
    name: 'compaction',
    ask: {
      responses: { input: [{ role: 'user', content: 'Ahoy' }, { type: 'compaction_trigger' }] },
    },
    got: fillWires(meetsAll(mentions('Ahoy'), mentions('Your context is about to be cleared'))),
    does: fillWires({ text: 'They said ahoy.' }),
    shown: { responses: holds({ type: 'compaction', encrypted_content: /^[\w-]+$/ }) },
  },
];
