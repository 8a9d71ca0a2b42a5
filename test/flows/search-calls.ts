/** Calls of each protocol that let their provider search, and what they reserve. */

export const user = [{ role: 'user', content: 'What is new?' }];

/** A request of a protocol, to a model that has a price for its tokens alone. */
export const paths: Readonly<Record<string, readonly [path: string, body: object]>> = {
  'chat-completions': ['/v1/chat/completions', { model: 'house/model', messages: user }],
  responses: ['/v1/responses', { model: 'house/model', input: 'What is new?' }],
  messages: ['/alpha/v1/messages', { model: 'house/model', max_tokens: 100, messages: user }],
  'generate-content': [
    '/beta/v1beta/models/house/model:generateContent',
    { contents: [{ role: 'user', parts: [{ text: 'What is new?' }] }] },
  ],
};
