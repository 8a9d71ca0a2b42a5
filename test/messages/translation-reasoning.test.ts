import { describe, expect, it } from 'vitest';
import type { Block, CanonicalRequest } from '../../core/index.ts';
import { assistant, result, tool, user } from '../support/turns.ts';
import { makeCapable, makeModel, send, look, callLook, turns } from './bodies.ts';

const adaptive = makeCapable({ reasoning: { style: 'adaptive', efforts: ['low', 'medium', 'high', 'max'] } });

it.each([
  [{ effort: 'minimal' }, 1024],
  [{ effort: 'low' }, 2048],
  [{ effort: 'medium' }, 8192],
  [{ effort: 'high' }, 24576],
  [{ effort: 'max' }, 48_000],
  [{ budget: 5000 }, 5000],
  [{ budget: -1 }, 8192],
  [{ display: 'full' as const }, 8192],
])('reasoning of %j is a budget of %i if the model counts tokens', (reasoning, tokens) => {
  const { body } = send({ reasoning });
  expect(body.thinking).toMatchObject({ type: 'enabled', budget_tokens: tokens });
});

it.each([
  [{ effort: 'minimal' }, 'low', ['reasoning.effort']],
  [{ effort: 'medium' }, 'medium', []],
  [{ effort: 'xhigh' }, 'high', ['reasoning.effort']],
  [{ budget: 30_000 }, 'high', ['reasoning.budget']],
  [{ budget: -1 }, undefined, ['reasoning.budget']],
  [{ display: 'full' as const }, undefined, []],
])('reasoning of %j is the effort %s if the model decides itself', (reasoning, effort, losses) => {
  const { body, lost } = send({ reasoning }, adaptive);
  expect(body.thinking).toEqual({ type: 'adaptive', display: 'summarized' });
  expect(body.output_config).toEqual(effort === undefined ? undefined : { effort });
  expect(lost).toEqual(losses);
});

it('reasoning of none is switched off, set as low as possible, or omitted', () => {
  expect(send({ reasoning: { effort: 'none' } }).body.thinking).toEqual({ type: 'disabled' });
  expect(send({ reasoning: { budget: 0 } }, adaptive).body.thinking).toEqual({ type: 'disabled' });
  const always = makeCapable({ reasoning: { style: 'adaptive', canDisable: false } });
  expect(send({ reasoning: { effort: 'none' } }, always)).toMatchObject({
    body: { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } },
    lost: ['reasoning'],
  });
  const never = makeCapable({ reasoning: { style: 'none' } });
  expect(send({ reasoning: { effort: 'none' } }, never)).toMatchObject({ lost: [] });
  expect(send({ reasoning: { effort: 'high' } }, never)).toMatchObject({ lost: ['reasoning'] });
});

it('reasoning is not enabled for a client that only asks to hide it', () => {
  const hidden = { reasoning: { display: 'none' as const }, temperature: 0.3 };
  for (const model of [makeModel(), adaptive, makeCapable({ reasoning: { style: 'none' } })]) {
    const { body, lost } = send(hidden, model);
    expect([body.thinking, body.temperature, lost]).toEqual([undefined, 0.3, []]);
  }
});

it.each([
  [makeModel(), { thinking: { budget_tokens: 8192 } }],
  [adaptive, { output_config: { effort: 'medium' } }],
])('reasoning of an unknown effort is a medium one, and the loss is reported', (model, body) => {
  expect(send({ reasoning: { effort: 'utmost' } }, model)).toMatchObject({
    body,
    lost: ['reasoning.effort'],
  });
});

it('reasoning stays below the output limit, and is omitted if there is no room', () => {
  expect(send({ reasoning: { effort: 'high' }, outputLimit: 4096 })).toMatchObject({
    body: { thinking: { budget_tokens: 3072 } },
    lost: ['reasoning.effort'],
  });
  expect(send({ reasoning: { budget: 2000 }, outputLimit: 2000 })).toMatchObject({
    body: { thinking: { budget_tokens: 1500 } },
    lost: ['reasoning.budget'],
  });
  expect(send({ reasoning: { effort: 'low' }, outputLimit: 1024 }).lost).toEqual(['reasoning']);
});

it('reasoning is omitted for a forced tool, and if the reasoning of a tool loop is gone', () => {
  const forced = send({ reasoning: { effort: 'low' }, tools: [look], toolChoice: { mode: 'required' } });
  expect([forced.body.thinking, forced.lost]).toEqual([undefined, ['reasoning']]);
  const loop = turns(user('Go'), assistant(callLook('a')), tool(result('a')));
  expect(send({ ...loop, tools: [look], reasoning: { effort: 'low' } }).lost).toEqual(['reasoning']);
  expect(send({ ...loop, tools: [look], reasoning: { effort: 'low' } }, adaptive).lost).toEqual([]);
  const sealed: Block = {
    type: 'reasoning',
    text: 'Hm.',
    opaque: [{ vendor: 'anthropic', kind: 'signature', value: 's' }],
  };
  const whole = turns(user('Go'), assistant(sealed, callLook('a')), tool(result('a')));
  expect(send({ ...whole, tools: [look], reasoning: { effort: 'low' } })).toMatchObject({
    body: { thinking: { type: 'enabled' } },
    lost: [],
  });
});

it('reasoning requests no visible reasoning if the client wants none', () => {
  expect(send({ reasoning: { effort: 'low', display: 'none' } }, adaptive).body.thinking).toEqual({
    type: 'adaptive',
    display: 'omitted',
  });
});

describe('signed reasoning', () => {
  const reasoning = (
    ...opaque: { vendor: string; kind: string; value: string }[]
  ): Partial<CanonicalRequest> =>
    turns(user('x'), assistant({ type: 'reasoning', text: 'Hm.', opaque }, 'Yes.'), user('y'));

  it('returns to its own provider unchanged', () => {
    const { body, lost } = send(
      reasoning(
        { vendor: 'anthropic', kind: 'signature', value: 's1' },
        { vendor: 'anthropic', kind: 'encrypted', value: 'd1' },
      ),
    );
    expect(body.messages).toMatchObject([
      {},
      {
        content: [
          { type: 'thinking', thinking: 'Hm.', signature: 's1' },
          { type: 'redacted_thinking', data: 'd1' },
          { type: 'text' },
        ],
      },
      {},
    ]);
    expect(lost).toEqual([]);
  });

  it('of another provider, and reasoning without a signature, never reaches it', () => {
    for (const opaque of [[{ vendor: 'openai', kind: 'encrypted', value: 'x' }], []]) {
      const { body, lost } = send(reasoning(...opaque));
      expect(JSON.stringify(body)).not.toContain('Hm.');
      expect(lost).toEqual(['turns[1].blocks[0]']);
    }
  });
});
