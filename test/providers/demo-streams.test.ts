/** The demo model's stream: its words, pace and end. */
import type OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { demo } from '../../plugins/providers/demo.ts';
import { buildRouted } from '../support/exchange.ts';
import { createHost } from '../support/host.ts';
import { ask, createClient, followSignal, hello, requireTarget } from './demo-client.ts';

describe('its stream', () => {
  async function streamChunks(
    request: Partial<OpenAI.ChatCompletionCreateParamsStreaming>,
  ): Promise<OpenAI.ChatCompletionChunk[]> {
    return Array.fromAsync(
      await createClient().chat.completions.create({ ...hello, ...request, stream: true }),
    );
  }

  it('says word by word what the JSON reply says at once', async () => {
    const chunks = await streamChunks({});
    const whole = await createClient().chat.completions.create(hello);
    const deltas = chunks.map(({ choices }) => choices[0]?.delta.content ?? '');
    expect(deltas.join('')).toBe(whole.choices[0]?.message.content);
    expect(deltas.filter(Boolean).every((piece) => /^\S+ ?$/.test(piece))).toBe(true);
    expect(new Set(chunks.map(({ id, created }) => `${id} ${created}`)).size).toBe(1);
    expect(chunks.map(({ choices }) => choices[0]?.finish_reason).filter(Boolean)).toEqual(['stop']);
    expect(chunks.every((chunk) => !('usage' in chunk))).toBe(true);
  });

  it('ends with the usage that was asked for', async () => {
    const chunks = await streamChunks({ stream_options: { include_usage: true } });
    const whole = await createClient().chat.completions.create(hello);
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: whole.usage });
    expect(chunks.slice(0, -1).every(({ usage }) => usage === null)).toBe(true);
  });

  it('keeps to limit and number of choices', async () => {
    const chunks = await streamChunks({ max_tokens: 2, n: 2 });
    for (const index of [0, 1]) {
      const own = chunks.flatMap(({ choices }) => choices.filter((choice) => choice.index === index));
      expect(own.map(({ delta }) => delta.content ?? '').join('')).toBe('This is ');
      expect(own.at(-1)?.finish_reason).toBe('length');
    }
  });

  it('ends with [DONE]', async () => {
    const host = createHost([demo({ pace: 0 })]);
    const response = await ask(
      host,
      buildRouted(requireTarget(host, 'demo/echo')),
      JSON.stringify({ ...hello, stream: true }),
    );
    const text = Buffer.concat(await Array.fromAsync(response?.body ?? [])).toString();
    expect(text.endsWith('\n\ndata: [DONE]\n\n')).toBe(true);
  });

  it.each([0, 60_000])('stops at once when the client disconnects, %i ms between its words', async (pace) => {
    const host = createHost([demo({ pace })]);
    const gone = new AbortController();
    const exchange = buildRouted(requireTarget(host, 'demo/echo'), {
      cancellation: followSignal(gone.signal),
    });
    const response = await ask(host, exchange, JSON.stringify({ ...hello, stream: true }));
    const frames = response?.body[Symbol.asyncIterator]();
    expect((await frames?.next())?.done).toBe(false);
    const next = frames?.next();
    gone.abort();
    await next?.catch(() => undefined);
    await expect(Promise.resolve(next).then(() => frames?.next())).rejects.toThrow(/abort/i);
  });

  it('pauses between words as long as the option says', async () => {
    const started = performance.now();
    await Array.fromAsync(
      await createClient(createHost([demo({ pace: 5 })])).chat.completions.create({
        ...hello,
        max_tokens: 10,
        stream: true,
      }),
    );
    expect(performance.now() - started).toBeGreaterThan(20);
  });
});
