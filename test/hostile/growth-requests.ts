/** Requests with many of one thing, by protocol. */
import { type Side } from '../support/crossing.ts';

type Shape = (size: number) => object;

export function makeMany(size: number, make: (index: number) => unknown): unknown[] {
  return Array.from({ length: size }, (_, index) => make(index));
}

const user = { role: 'user', content: 'Ahoy' };
const chatCall = (id: string): object => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } });

/** Shapes that were slow once. */
export const known: readonly [Side, string, Shape][] = [
  [
    'chat-completions',
    'short turns',
    (size) => ({
      model: 'a/b',
      messages: makeMany(size * 10, (index) => ({ role: index % 2 ? 'assistant' : 'user', content: 'a' })),
    }),
  ],
  [
    'chat-completions',
    'calls without results',
    (size) => ({
      model: 'a/b',
      messages: [
        user,
        {
          role: 'assistant',
          content: null,
          tool_calls: makeMany(size * 5, (index) => chatCall(`c${index}`)),
        },
        user,
      ],
    }),
  ],
  [
    'chat-completions',
    'calls of one id',
    (size) => ({
      model: 'a/b',
      messages: makeMany(size * 5, () => ({ role: 'assistant', content: null, tool_calls: [chatCall('c')] })),
    }),
  ],
  [
    'chat-completions',
    'results without calls',
    (size) => ({
      model: 'a/b',
      messages: [
        user,
        ...makeMany(size * 5, (index) => ({ role: 'tool', tool_call_id: `c${index}`, content: 'a' })),
      ],
    }),
  ],
  [
    'chat-completions',
    'stop sequences',
    (size) => ({ model: 'a/b', messages: [user], stop: makeMany(size, String) }),
  ],
  [
    'messages',
    'unknown fields',
    (size) => ({
      model: 'a/b',
      max_tokens: 9,
      messages: makeMany(size * 5, () => ({ ...user, x: 1, y: 2 })),
    }),
  ],
  [
    'responses',
    'outputs without calls',
    (size) => ({
      model: 'a/b',
      input: makeMany(size * 5, (index) => ({
        type: 'function_call_output',
        call_id: `c${index}`,
        output: 'a',
      })),
    }),
  ],
  [
    'responses',
    'tools',
    (size) => ({
      model: 'a/b',
      input: 'a',
      tools: makeMany(size * 5, (index) => ({
        type: 'function',
        name: `f ${index}`,
        parameters: null,
        strict: false,
      })),
    }),
  ],
  [
    'generate-content',
    'calls without ids',
    (size) => ({
      contents: makeMany(size * 5, (index) =>
        index % 2
          ? { role: 'user', parts: [{ functionResponse: { name: 'f', response: {} } }] }
          : { role: 'model', parts: [{ functionCall: { name: 'f', args: {} } }] },
      ),
    }),
  ],
  [
    'generate-content',
    'calls before results',
    (size) => ({
      contents: ['functionCall', 'functionResponse'].map((kind, index) => ({
        role: index === 0 ? 'model' : 'user',
        parts: makeMany(size * 5, () => ({
          [kind]: { name: 'f', ...(index === 0 ? { args: {} } : { response: {} }) },
        })),
      })),
    }),
  ],
  [
    'chat-completions',
    'results of one id',
    (size) => ({
      model: 'a/b',
      messages: [
        user,
        { role: 'assistant', content: null, tool_calls: makeMany(size * 5, () => chatCall('c')) },
        ...makeMany(size * 5, () => ({ role: 'tool', tool_call_id: 'c', content: 'a' })),
      ],
    }),
  ],
  [
    'generate-content',
    'fields in snake_case',
    (size) => ({
      contents: [
        { parts: makeMany(size * 5, () => ({ inline_data: { mime_type: 'image/png', data: 'AAAA' } })) },
      ],
    }),
  ],
];
