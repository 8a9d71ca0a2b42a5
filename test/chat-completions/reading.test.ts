import { describe, expect, it } from 'vitest';
import { protocol } from '../../plugins/protocols/chat-completions/index.ts';
import { families, readCall, sendOwn } from '../support/families.ts';
import { makeCall, makeModel, message, say } from './bodies.ts';

describe('top_k', () => {
  const request = { model: 'a/b', messages: [{ role: 'user', content: 'Hi' }], top_k: -1 };

  it('is -1 for all tokens, which is passed on to vLLM', () => {
    const call = makeCall({ top_k: -1 });
    expect(call.decode().topK).toBeUndefined();
    const vllm = makeModel({
      id: 'house/qwen',
      supportedParameters: ['top_k'],
      capabilities: { wire: { 'chat-completions': { extras: false } } },
    });
    expect(protocol.upstream.encodeRequest(call.decode(), vllm, undefined).body).toMatchObject({ top_k: -1 });
  });

  it.each(['messages', 'generate-content'] as const)('is left out for %s if it is -1', (wire) => {
    const { body } = families[wire].protocol.upstream.encodeRequest(
      readCall('chat-completions', request).decode(),
      families[wire].model,
      undefined,
    );
    expect(JSON.stringify(body)).not.toContain('-1');
  });
});

describe('unset and unknown values', () => {
  it('accepts null as unset for every optional field', () => {
    const { outputLimit, candidates, stream, usageWanted } = makeCall({
      temperature: null,
      n: null,
      max_tokens: null,
      stream: null,
      stream_options: null,
      tools: null,
      stop: null,
      provider: null,
      seed: null,
    });
    expect({ outputLimit, candidates, stream, usageWanted }).toEqual({
      outputLimit: undefined,
      candidates: 1,
      stream: false,
      usageWanted: false,
    });
  });

  it('accepts hosted tools', () => {
    const { tools: read } = makeCall({
      tools: [{ type: 'openrouter:web_search' }, { type: 'browser_search' }],
    }).decode();
    expect(read?.map(({ type }) => type)).toEqual(['hosted', 'hosted']);
  });
});

describe('a call', () => {
  it('has the lower of two output limits', () => {
    expect(makeCall({ max_tokens: 50, max_completion_tokens: 40 }).outputLimit).toBe(40);
    expect(makeCall({ max_tokens: 50 }).outputLimit).toBe(50);
  });

  it('has the requested candidates, stream and usage', () => {
    const call = makeCall({ n: 3, stream: true, stream_options: { include_usage: true } });
    expect([call.candidates, call.stream, call.usageWanted]).toEqual([3, true, true]);
  });

  it.each([
    [{ reasoning_effort: 'low' }, 'low'],
    [{ reasoning: { max_tokens: 9 } }, 9],
    [{ enable_thinking: false, reasoning_effort: 'low' }, 'none'],
    [{ thinking: { type: 'disabled' } }, undefined],
    [{ enable_thinking: true }, undefined],
  ])('has the effort of whichever field asks for it or turns it off: %j', (fields, effort) => {
    expect(makeCall(fields).effort).toBe(effort);
  });

  it('reads preferences from the provider object, one fallback as a list and prices as text', () => {
    const { preferences } = makeCall({
      provider: {
        order: ['a'],
        allow_fallbacks: false,
        fallback: 'x/y',
        max_price: { prompt: 0.5, completion: '2' },
        sort: 'price',
      },
    });
    expect(preferences).toMatchObject({
      order: ['a'],
      allow_fallbacks: false,
      fallback: ['x/y'],
      max_price: { prompt: '0.500000000', completion: '2' },
      sort: 'price',
    });
  });

  it('counts media apart from text, in decoded bytes', () => {
    const image = 'A'.repeat(4000);
    const pdf = 'B'.repeat(400);
    const fields = say([
      { type: 'text', text: 'é' },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${image}` } },
      { type: 'image_url', image_url: { url: 'https://pictures.example/1.png' } },
      { type: 'file', file: { file_data: `data:application/pdf;base64,${pdf}` } },
      { type: 'input_audio', input_audio: { data: 'CCCC', format: 'wav' } },
    ]);
    const whole = Buffer.byteLength(JSON.stringify({ model: 'openai/gpt-5.5', messages: [], ...fields }));
    expect(makeCall(fields).size).toEqual({
      textBytes: whole - 4000 - 400 - 4,
      brief: true,
      images: 2,
      mediaBytes: 300 + 3,
    });
  });

  it('counts what providers add to explain tools', () => {
    const tools = [{ type: 'function', function: { name: 'f' } }];
    expect([makeCall({ tools }).size.added, makeCall({}).size.added]).toEqual([1000, undefined]);
  });

  it('counts a generated picture as an image, and accepts it as the only answer', () => {
    const url = `data:image/png;base64,${'A'.repeat(4000)}`;
    const { size } = makeCall(
      message({ role: 'assistant', content: null, images: [{ type: 'image_url', image_url: { url } }] }),
    );
    expect([size.images, size.textBytes < 1000]).toEqual([1, true]);
  });

  it.each([{ content: null }, {}])('may hold reasoning alone, as a reply of ours does: %j', (content) => {
    const call = makeCall(message({ role: 'assistant', ...content, reasoning_content: 'Hm.' }));
    const model = makeModel({ id: 'deepseek/deepseek-v4' });
    // Providers refuse it without a text.
    expect(call.suits?.(model)).toBe(false);
    const wire = { model: 'a/b', ...message({ role: 'assistant', ...content, reasoning_content: 'Hm.' }) };
    expect(sendOwn('chat-completions', wire, { model }).body).toMatchObject({
      messages: [{ role: 'assistant', content: '', reasoning_content: 'Hm.' }],
    });
  });

  it('keeps all digits of a seed that is too large for a double, and takes no other seed for it', () => {
    const text =
      '{"messages":[{"role":"user","content":"x"}],"metadata":{"seed":"7"},"seed": ' +
      '9223372036854775807,"model":"a/b","tools":[{"type":"function","function":{"name":"f",' +
      '"parameters":{"seed":12345678901234567890}}}]}';
    expect(protocol.client.read(JSON.parse(text), text, { operation: 'generate' }, {}).decode().seed).toBe(
      '9223372036854775807',
    );
    expect(makeCall({ seed: 42 }).decode().seed).toBe(42);
  });
});

describe('the path', () => {
  it('is matched exactly, and only for POST', () => {
    expect(protocol.client.match('POST', '/v1/chat/completions')).toEqual({ operation: 'generate' });
    expect(protocol.client.match('GET', '/v1/chat/completions')).toBeUndefined();
    expect(protocol.client.match('POST', '/v1/chat/completions/x')).toBeUndefined();
  });
});
