import { expect, it } from 'vitest';
import { splice } from '../../core/index.ts';
import { protocol } from '../../plugins/protocols/responses/index.ts';
import { makeModel } from './bodies.ts';

function retarget(text: string, limit?: number): string {
  const call = protocol.client.read(JSON.parse(text), text, { operation: 'generate' }, {});
  return splice(
    text,
    protocol.upstream.retarget({
      call,
      model: 'up',
      outputLimit: limit,
      capabilities: makeModel().capabilities,
    }),
  );
}

it('a verbatim request keeps every byte except the model', () => {
  const text =
    '\n{ "input" :\t[ {"role":"user","content":"\\u00e9\\ud83d\\ude00 \\"model\\": é🌊\\\\"} ] ,\r\n' +
    ' "temperature": 1.0 ,"model" : "openai/gpt-5.5" ,"x":-0,"y":1E+2,"store":true,' +
    '"metadata":{"model":"kept","provider":"kept"} }\n';
  expect(retarget(text)).toBe(text.replace('"openai/gpt-5.5"', '"up"'));
});

it("a verbatim request drops the gateway's own object", () => {
  expect(retarget('{"model":"a/b","provider":{"order":["x"]},"input":"x"}')).toBe(
    '{"model":"up","input":"x"}',
  );
});

it.each([
  [
    '{"model":"a/b","input":"x","max_output_tokens": 100}',
    '{"model":"up","input":"x","max_output_tokens": 20}',
  ],
  [
    '{"model":"a/b","input":"x","max_output_tokens":null}',
    '{"model":"up","input":"x","max_output_tokens":20}',
  ],
  ['{"model":"a/b","input":"x"}', '{"max_output_tokens":20,"model":"up","input":"x"}'],
])('a verbatim request carries an output limit that the gateway lowered: %s', (text, expected) => {
  expect(retarget(text, 20)).toBe(expected);
});
