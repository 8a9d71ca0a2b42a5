/** Requests to the fake OpenAI, good and bad, in parts. */

export const model = 'gpt-4o';
export const user = { role: 'user', content: 'Hello!' };
export const good = { model, input: [user] };

export const tool = (facts: object = {}) => ({
  type: 'function',
  name: 'find',
  parameters: { type: 'object', properties: {} },
  ...facts,
});
