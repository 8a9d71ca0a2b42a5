/**
 * A schema beside the JSON object format, as Together accepts it and Instructor writes it, is a schema to
 * every model.
 */
import { describe, expect, it } from 'vitest';
import { toClientPath } from '../../core/loss.ts';
import { families, readCall, sendOwn } from '../support/families.ts';

const schema = {
  type: 'object',
  properties: { boats: { type: 'integer' } },
  required: ['boats'],
  additionalProperties: false,
};
const request = {
  model: 'a/b',
  messages: [{ role: 'user', content: 'Count them, in JSON.' }],
  response_format: { type: 'json_object', schema },
};

describe('a schema of a chat directly in its format', () => {
  it.each([
    ['messages', { output_config: { format: { type: 'json_schema', schema } } }],
    ['responses', { text: { format: { type: 'json_schema', schema } } }],
    ['generate-content', { generationConfig: { responseMimeType: 'application/json' } }],
  ] as const)('is a schema to %s, and no loss', (wire, expected) => {
    const { body, losses } = families[wire].protocol.upstream.encodeRequest(
      readCall('chat-completions', request).decode(),
      families[wire].model,
      undefined,
    );
    expect(body).toMatchObject(expected);
    expect(JSON.stringify(body)).toContain('boats');
    expect(losses).toEqual([]);
  });

  it('goes back as it was written', () => {
    const { body } = sendOwn('chat-completions', request);
    expect(body).toMatchObject({ response_format: request.response_format });
  });

  it('is named by its path if something of it is lost', () => {
    expect(toClientPath('format.schema', readCall('chat-completions', request).decode(), {})).toBe(
      'response_format.schema',
    );
  });
});
