/** Requests to the fake Anthropic, good and bad, in parts. */

export const model = 'claude-sonnet-4-5';
export const user = { role: 'user', content: 'Hello!' };
export const good = { model, max_tokens: 100, messages: [user] };
export const tool = { name: 'find', input_schema: { type: 'object', properties: {} } };

export const use = (id: string, more: object = {}) => ({
  type: 'tool_use',
  id,
  name: 'find',
  input: {},
  ...more,
});

export const result = (id: string, more: object = {}) => ({
  type: 'tool_result',
  tool_use_id: id,
  content: 'x',
  ...more,
});

export const assistant = (...content: object[]) => ({ role: 'assistant', content });
export const answers = (...content: object[]) => ({ role: 'user', content });
export const said = (...messages: object[]) => ({ messages: [user, ...messages] });
export const text = (words: string, more: object = {}) => ({ type: 'text', text: words, ...more });
export const mark = (ttl?: string) => ({ cache_control: { type: 'ephemeral', ...(ttl ? { ttl } : {}) } });

/** Changes to a valid request, with the message of the 400. */
export type Change = [change: object, message: string | RegExp];
