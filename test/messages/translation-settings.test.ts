import { describe, expect, it } from 'vitest';
import type { CanonicalRequest } from '../../core/index.ts';
import { assistant, call, system, text, user } from '../support/turns.ts';
import { makeCapable, makeModel, send } from './bodies.ts';

it("the output limit is the model's own if the client states none, and the granted one before all", () => {
  expect(send({}).body.max_tokens).toBe(64_000);
  expect(send({ outputLimit: 50 }).body.max_tokens).toBe(50);
  expect(send({ outputLimit: 50 }, makeModel(), 20).body.max_tokens).toBe(20);
  expect(send({ outputLimit: 100_000 })).toMatchObject({
    body: { max_tokens: 64_000 },
    lost: ['outputLimit'],
  });
});

describe('sampling', () => {
  it('is passed on, a temperature above 1 as 1', () => {
    expect(send({ temperature: 0.3, topK: 5, stop: ['x'] })).toMatchObject({
      body: { temperature: 0.3, top_k: 5, stop_sequences: ['x'] },
      lost: [],
    });
    expect(send({ temperature: 1.4 })).toMatchObject({
      body: { temperature: 1 },
      losses: [{ path: 'temperature', reason: 'sent as 1, the maximum' }],
    });
  });

  it('is omitted and reported if the model does not accept it, not both, or not with reasoning', () => {
    const plain = makeCapable({ sampling: false });
    expect(send({ temperature: 0.3, topP: 0.5, topK: 3, stop: [' ', 'x'] }, plain)).toMatchObject({
      body: { stop_sequences: ['x'] },
      lost: ['temperature', 'topP', 'topK'],
    });
    expect(send({ temperature: 0.3, topP: 0.5 })).toMatchObject({
      body: { temperature: 0.3 },
      lost: ['topP'],
    });
    expect(send({ topP: 0.5 }, makeModel({ supportedParameters: ['temperature'] })).lost).toEqual(['topP']);
    const { body, lost } = send({ temperature: 0.3, topK: 4, reasoning: { effort: 'low' } });
    expect([body.temperature, body.top_k, lost]).toEqual([undefined, undefined, ['temperature', 'topK']]);
  });

  it('that this wire cannot express is reported', () => {
    const rest: Partial<CanonicalRequest> = {
      serviceTier: 'flex',
      modalities: ['text', 'audio'],
      candidates: 2,
      frequencyPenalty: 1,
      presencePenalty: 1,
      seed: 0,
      logprobs: {},
      verbosity: 'low',
      metadata: { a: 'b' },
      cacheKey: 'k',
    };
    expect(send(rest).lost).toEqual(Object.keys(rest));
    expect(send({ serviceTier: 'constructor' })).toMatchObject({
      body: expect.not.objectContaining({ service_tier: expect.anything() }),
      lost: ['serviceTier'],
    });
    expect(send({ user: 'u1', serviceTier: 'default', modalities: ['text'], candidates: 1 })).toMatchObject({
      body: { metadata: { user_id: 'u1' }, service_tier: 'standard_only' },
      lost: [],
    });
  });
});

it('an answer that is not text is refused by the name of the field', () => {
  expect(() => send({ modalities: ['audio'] })).toThrow(
    expect.objectContaining({ details: expect.objectContaining({ param: 'modalities' }) }),
  );
});

describe('a prefilled answer', () => {
  const begun = [user('Ahoy'), assistant('Once ')];
  const goOn = {
    role: 'user',
    content: [text('<system>\nGo on from where the assistant stopped.\n</system>')],
  };
  const newer = makeCapable({ reasoning: { style: 'adaptive' }, wire: { messages: { prefill: false } } });

  it('is continued by models that can, without reasoning', () => {
    const { body, lost } = send({ turns: begun, reasoning: { effort: 'low' } });
    expect([body.messages, body.thinking, lost]).toEqual([
      [
        { role: 'user', content: [text('Ahoy')] },
        { role: 'assistant', content: [text('Once')] },
      ],
      undefined,
      ['turns[1]', 'reasoning'],
    ]);
  });

  it('is followed by a user turn if the model refuses to end with it, and the loss is reported', () => {
    const { body, lost } = send({ turns: begun, reasoning: { effort: 'low' } }, newer);
    expect([body.messages, body.thinking, lost]).toEqual([
      [{}, { role: 'assistant', content: [text('Once ')] }, goOn].with(0, {
        role: 'user',
        content: [text('Ahoy')],
      }),
      { type: 'adaptive', display: 'summarized' },
      ['turns[1]'],
    ]);
  });

  it('is not continued if system text follows it, and a call that waits for its result is none', () => {
    const midway = makeCapable({ wire: { messages: { midSystem: true, prefill: false } } });
    expect(send({ turns: [...begun, system('Be brief.')] }, midway).body.messages).toMatchObject([
      {},
      { role: 'assistant' },
      { role: 'user', content: [{ text: '<system>\nBe brief.\n</system>' }] },
    ]);
    const called = assistant(call('a', 'look'));
    expect(send({ turns: [user('Go'), called] }, newer).body.messages).toMatchObject([
      { role: 'user' },
      { role: 'assistant' },
    ]);
  });
});
