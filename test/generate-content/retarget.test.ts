import { describe, expect, it } from 'vitest';
import { splice } from '../../core/index.ts';
import { makeMatch, makeModel, protocol } from './bodies.ts';

const { client, upstream } = protocol;

function retarget(
  text: string,
  outputLimit?: number,
  match: Parameters<typeof client.read>[2] = makeMatch(),
): string {
  const call = client.read(JSON.parse(text), text, match, {});
  return splice(
    text,
    upstream.retarget({ call, model: 'gemini-3-pro', outputLimit, capabilities: makeModel().capabilities }),
  );
}

const contents = '"contents": [ {"parts":[{"text":"x","n":1.0}]} ]';

describe('a body on the verbatim lane', () => {
  it('is not edited, because the model is in the address', () => {
    const text = `{ ${contents},"generationConfig":{"temperature":1.0,"maxOutputTokens":50}}`;
    expect(retarget(text)).toBe(text);
    expect(retarget(text, 50)).toBe(text);
  });

  it.each([
    [
      `{${contents},"generationConfig":{"temperature":1.0,"maxOutputTokens":50}}`,
      `{${contents},"generationConfig":{"temperature":1.0,"maxOutputTokens":20}}`,
    ],
    [
      `{${contents},"generation_config":{"max_output_tokens":50}}`,
      `{${contents},"generation_config":{"max_output_tokens":20}}`,
    ],
    [
      `{${contents},"generation_config":{"temperature":1.0}}`,
      `{${contents},"generation_config":{"maxOutputTokens":20,"temperature":1.0}}`,
    ],
    [`{${contents}}`, `{"generationConfig":{"maxOutputTokens":20},${contents}}`],
    [`{${contents},"generationConfig":null}`, `{${contents},"generationConfig":{"maxOutputTokens":20}}`],
  ])('%s gets a lower limit under the field name that its client uses', (text, lowered) => {
    expect(retarget(text, 20)).toBe(lowered);
  });

  it('loses the `provider` object, wherever it is', () => {
    expect(retarget(`{${contents},"provider":{"only":["google"]}}`)).toBe(`{${contents}}`);
    expect(retarget(`{"provider":null,${contents}}`)).toBe(`{${contents}}`);
    const count = { operation: 'count', model: 'google/gemini-3-pro' } as const;
    expect(
      retarget(
        `{"generateContentRequest":{"model":"models/google/gemini-3-pro",${contents},` +
          '"provider":{"order":["google"]}}}',
        undefined,
        count,
      ),
    ).toBe(`{"generateContentRequest":{"model":"models/gemini-3-pro",${contents}}}`);
    expect(
      retarget(
        `{"provider":{},"generateContentRequest":{"model":"models/google/gemini-3-pro",${contents}}}`,
        undefined,
        count,
      ),
    ).toBe(`{"generateContentRequest":{"model":"models/gemini-3-pro",${contents}}}`);
  });

  it("gets the vendor's model name if it names a model", () => {
    expect(retarget(`{"model":"google/gemini-3-pro",${contents}}`)).toBe(
      `{"model":"models/gemini-3-pro",${contents}}`,
    );
    const count = { operation: 'count', model: 'google/gemini-3-pro' } as const;
    expect(
      retarget(
        `{"generateContentRequest":{"model":"models/google/gemini-3-pro",${contents}}}`,
        undefined,
        count,
      ),
    ).toBe(`{"generateContentRequest":{"model":"models/gemini-3-pro",${contents}}}`);
    expect(retarget(`{"generate_content_request":{${contents}}}`, undefined, count)).toBe(
      `{"generate_content_request":{"model":"models/gemini-3-pro",${contents}}}`,
    );
    expect(retarget(`{${contents}}`, undefined, count)).toBe(`{${contents}}`);
  });
});
