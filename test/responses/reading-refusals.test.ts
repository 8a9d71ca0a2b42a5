import { expect, it } from 'vitest';
import { protocol } from '../../plugins/protocols/responses/index.ts';
import { readCases } from '../support/cases.ts';
import { expectRefusal } from '../support/refusals.ts';
import { makeCall, item } from './bodies.ts';

/** Fields, the field that the error names, and its message. */
const wrong: [fields: Record<string, unknown>, param: string, message: RegExp][] = [
  ...readCases<[fields: Record<string, unknown>, param: string, message: RegExp][]>(
    'reading-refusals.json',
    import.meta.url,
  ),
  [{ input: undefined }, 'input', /is missing: send a string, or an array of input items/],
];

it.each(wrong)('the reader refuses %j and names the field', (fields, param, message) => {
  const error = expectRefusal(() => makeCall(fields));
  expect(error.code).toBe('invalid_request');
  expect(error.details.param).toBe(param);
  expect(error.message).toMatch(message);
  expect(error.message.startsWith(`"${param}" `)).toBe(true);
});

it.each([['text'], [null], [[1]]])('the reader refuses the body %j, which is not an object', (body) => {
  expect(
    expectRefusal(() => protocol.client.read(body, JSON.stringify(body), { operation: 'generate' }, {}))
      .message,
  ).toMatch(/JSON object/);
});

it.each([
  [{ previous_response_id: 'resp_1' }, 'previous_response_id'],
  [{ conversation: 'conv_1' }, 'conversation'],
  [{ conversation: { id: 'conv_1' } }, 'conversation'],
  [{ prompt: { id: 'pmpt_1' } }, 'prompt'],
  [{ background: true }, 'background'],
  [item({ type: 'item_reference', id: 'msg_1' }), 'input[1]'],
  [item({ id: 'msg_1' }), 'input[1]'],
])('the reader refuses a field that needs stored responses: %j', (fields, param) => {
  const error = expectRefusal(() => makeCall(fields));
  expect([error.code, error.details.param]).toEqual(['unsupported_parameter', param]);
  expect(error.message).toMatch(/the gateway (has|stores) none/);
});

it.each([item({ type: 'item_reference', id: 'msg_1' }), { previous_response_id: 'resp_1' }])(
  'the reader refuses %j in words that name both settings of an SDK which avoid it',
  (fields) => {
    const { message } = expectRefusal(() => makeCall(fields));
    expect(message).toContain('set "store: false", or use the chat completions model: .chat(model)');
  },
);
