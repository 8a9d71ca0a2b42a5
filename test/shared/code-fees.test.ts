import { expect, it } from 'vitest';
import { readCall } from '../support/families.ts';

const fee = { name: 'container', most: 1, spared: true };

it('a tool that runs code allows the fee of a container, which some providers charge', () => {
  const tools = [{ type: 'code_execution_20250825', name: 'code_execution' }];
  const messages = readCall('messages', {
    model: 'a/b',
    max_tokens: 9,
    tools,
    messages: [{ role: 'user', content: 'Hi' }],
  });
  expect(messages.fees).toEqual([{ ...fee, field: 'tools[0].type' }]);
  const contents = [{ role: 'user', parts: [{ text: 'Hi' }] }];
  const google = readCall('generate-content', { contents, tools: [{ code_execution: {} }] });
  expect(google.fees).toEqual([{ ...fee, field: 'tools[0].code_execution' }]);
});
