import { describe, expect, it } from 'vitest';
import { splice } from '../../core/index.ts';
import { protocol } from '../../plugins/protocols/chat-completions/index.ts';
import { makeCapable } from './bodies.ts';

type Field = 'max_tokens' | 'max_completion_tokens';

function retarget(
  text: string,
  { limit, field = 'max_completion_tokens' }: { limit?: number; field?: Field } = {},
): string {
  const call = protocol.client.read(JSON.parse(text), text, { operation: 'generate' }, {});
  const { capabilities } = makeCapable({ wire: { 'chat-completions': { outputLimitField: field } } });
  return splice(text, protocol.upstream.retarget({ call, model: 'up', outputLimit: limit, capabilities }));
}

const messages = '"messages":[{"role":"user","content":"x"}]';

describe('a request that is passed on verbatim', () => {
  it('gets another model and keeps every other byte', () => {
    const text =
      '\n{ "messages" :\t[ {"role":"user","content":"\\u00e9\\ud83d\\ude00 \\"model\\": é🌊\\\\"} ] ,\r\n' +
      ' "temperature": 1.0 , "seed":9223372036854775807,"model" : "openai/gpt-5.5" ,"x":-0,"y":1E+2,' +
      '"metadata":{"model":"kept","provider":"kept"},"tools":[{"type":"function","function":{"name":"f",' +
      '"parameters":{"properties":{"model":{"type":"string"},"max_tokens":{}}}}}] }\n';
    expect(retarget(text)).toBe(text.replace('"openai/gpt-5.5"', '"up"'));
  });

  it('keeps a limit as it is written if name and value are right', () => {
    const text = `{"model":"a/b","max_completion_tokens": 1e2 ,${messages}}`;
    expect(retarget(text)).toBe(text.replace('"a/b"', '"up"'));
    expect(retarget(text, { limit: 100 })).toBe(text.replace('"a/b"', '"up"'));
  });

  it('gets the limit under the name that the model takes', () => {
    expect(JSON.parse(retarget(`{"model":"a/b","max_tokens":50,${messages}}`))).toEqual(
      JSON.parse(`{"model":"up","max_completion_tokens":50,${messages}}`),
    );
    expect(
      JSON.parse(retarget(`{"model":"a/b","max_completion_tokens":50,${messages}}`, { field: 'max_tokens' })),
    ).toEqual(JSON.parse(`{"model":"up","max_tokens":50,${messages}}`));
  });

  it('keeps the lower limit if the client uses both names', () => {
    for (const field of ['max_tokens', 'max_completion_tokens'] as const) {
      const body: unknown = JSON.parse(
        retarget(`{"model":"a/b","max_tokens":50,"max_completion_tokens":40,${messages}}`, { field }),
      );
      expect(body).toEqual({ ...JSON.parse(`{"model":"up",${messages}}`), [field]: 40 });
    }
  });

  it('gets a lower limit, or one if it had none', () => {
    expect(retarget(`{"model":"a/b","max_completion_tokens":50,${messages}}`, { limit: 10 })).toBe(
      `{"model":"up","max_completion_tokens":10,${messages}}`,
    );
    expect(JSON.parse(retarget(`{"model":"a/b",${messages}}`, { limit: 10 }))).toEqual(
      JSON.parse(`{"model":"up","max_completion_tokens":10,${messages}}`),
    );
    expect(
      JSON.parse(retarget(`{"model":"a/b","max_completion_tokens":null,${messages}}`, { limit: 10 })),
    ).toEqual(JSON.parse(`{"model":"up","max_completion_tokens":10,${messages}}`));
  });
});
