import { describe, expect, it } from 'vitest';
import { protocol } from '../../plugins/protocols/chat-completions/index.ts';
import { readCases } from '../support/cases.ts';
import { expectRefusal } from '../support/refusals.ts';
import { makeCall, say } from './bodies.ts';

/** Fields to add to a valid request, the wrong field, and what the message says about it. */
const wrong: [fields: Record<string, unknown>, param: string, message: RegExp][] = [
  ...readCases<[fields: Record<string, unknown>, param: string, message: RegExp][]>(
    'reading-refusals.json',
    import.meta.url,
  ),
  [{ model: undefined }, 'model', /is missing: send a model id of the form <provider>\/<model_name>/],
  [{ messages: undefined }, 'messages', /is missing: send an array/],
  [say(undefined), 'messages[0].content', /is missing: send a string, or an array of content parts/],
];

describe('a wrong field', () => {
  it.each(wrong)('is refused by its name: %j', (fields, param, expected) => {
    const error = expectRefusal(() => makeCall(fields));
    expect(error.code).toBe('invalid_request');
    expect(error.details.param).toBe(param);
    expect(error.message).toMatch(expected);
    expect(error.message.startsWith(`"${param}" `)).toBe(true);
  });

  it('refuses fallback models of the provider, which have other prices, and names our field for them', () => {
    const error = expectRefusal(() => makeCall({ models: ['openai/gpt-5.5'] }));
    expect(error).toMatchObject({
      code: 'unsupported_parameter',
      details: { param: 'models' },
      message: expect.stringContaining('"provider.fallback"'),
    });
    for (const models of [null, []]) expect(makeCall({ models }).preferences.fallback).toBeUndefined();
  });

  it('is not quoted whole if it is long', () => {
    expect(expectRefusal(() => makeCall({ temperature: 'x'.repeat(100_000) })).message).toMatch(/is "x+…":/);
    expect(expectRefusal(() => makeCall({ temperature: 'x'.repeat(100_000) })).message.length).toBeLessThan(
      200,
    );
  });

  it('is not called null if its number is too large for a double', () => {
    const text = '{"model":"openai/gpt-5.5","messages":[{"role":"user","content":"a"}],"temperature":1e400}';
    expect(
      expectRefusal(() => protocol.client.read(JSON.parse(text), text, { operation: 'generate' }, {}))
        .message,
    ).toMatch(/^"temperature" is Infinity: send a number/);
  });

  it.each([['text'], [null], [[1]]])('is refused if the body is %j and not an object', (body) => {
    expect(
      expectRefusal(() => protocol.client.read(body, JSON.stringify(body), { operation: 'generate' }, {}))
        .message,
    ).toMatch(/JSON object/);
  });
});
