import { describe, expect, it } from 'vitest';
import { demo } from '../../plugins/providers/demo.ts';
import { groq } from '../../plugins/providers/groq.ts';
import { buildRouted } from '../support/exchange.ts';
import { createHost } from '../support/host.ts';
import { nameRates } from '../support/rates.ts';
import { ask, createClient, hello, introduction, model, requireTarget } from './demo-client.ts';

describe('the demo provider', () => {
  it('offers one cheap text model', () => {
    const { model: facts, price } = requireTarget(createHost([demo()]), 'demo/echo');
    expect(facts).toMatchObject({
      upstream: 'echo',
      output: ['text'],
      description: expect.stringContaining('offline'),
    });
    expect(nameRates(price)).toEqual({ input: 100_000_000n, output: 400_000_000n, tiers: [] });
  });

  it('answers for its own model alone', async () => {
    const host = createHost([groq({ apiKey: 'k' }), demo()]);
    expect(
      await ask(host, buildRouted(requireTarget(host, 'openai/gpt-oss-20b')), JSON.stringify(hello)),
    ).toBeUndefined();
  });

  it('marks the attempt as sent, as every transport does', async () => {
    const host = createHost([demo()]);
    const exchange = buildRouted(requireTarget(host, 'demo/echo'));
    await ask(host, exchange, JSON.stringify(hello));
    expect(exchange.attempt.sent).toBe(true);
  });
});

describe('its JSON reply', () => {
  it('says what it is and quotes what was said', async () => {
    const { created, id, object, choices } = await createClient().chat.completions.create(hello);
    expect({ created, id, object }).toEqual({
      created: Date.UTC(2026, 6, 2) / 1000,
      id: 'chatcmpl-exchange-1',
      object: 'chat.completion',
    });
    expect(choices).toMatchObject([
      {
        index: 0,
        finish_reason: 'stop',
        message: { role: 'assistant', content: `${introduction} You said: hello` },
      },
    ]);
  });

  it('is the same for the same request', async () => {
    const client = createClient();
    expect(await client.chat.completions.create(hello)).toEqual(await client.chat.completions.create(hello));
  });

  it('quotes the last user message, its text parts joined', async () => {
    const reply = await createClient().chat.completions.create({
      model,
      messages: [
        { role: 'user', content: 'first' },
        { role: 'assistant', content: 'yes?' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'what is ' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
            { type: 'text', text: 'this?' },
          ],
        },
      ],
    });
    expect(reply.choices[0]?.message.content).toBe(`${introduction} You said: what is this?`);
  });

  it('quotes only the beginning of a long message', async () => {
    const reply = await createClient().chat.completions.create({
      model,
      messages: [{ role: 'user', content: `x${'😀'.repeat(5000)}` }],
    });
    const content = reply.choices[0]?.message.content ?? '';
    expect(content.endsWith('😀…')).toBe(true);
    expect(content.isWellFormed()).toBe(true);
    expect(content.length).toBeLessThan(1200);
  });

  it('counts a token for four bytes, and media not at all', async () => {
    const askFor = (content: string) =>
      createClient().chat.completions.create({ model, messages: [{ role: 'user', content }] });
    const [short, long] = await Promise.all([askFor('12345678'), askFor('123456789012')]);
    const answer = Math.ceil(Buffer.byteLength(short.choices[0]?.message.content ?? '') / 4);
    expect(short.usage).toMatchObject({ completion_tokens: answer });
    expect((long.usage?.prompt_tokens ?? 0) - (short.usage?.prompt_tokens ?? 0)).toBe(1);
    const askWithPicture = (bytes: number) =>
      createClient().chat.completions.create({
        model,
        messages: [
          {
            role: 'user',
            content: [{ type: 'image_url', image_url: { url: `data:,${'A'.repeat(bytes)}` } }],
          },
        ],
      });
    expect((await askWithPicture(10)).usage).toEqual((await askWithPicture(10_000)).usage);
  });

  it('keeps to the output limit, under either name', async () => {
    for (const limit of [{ max_tokens: 3 }, { max_completion_tokens: 3 }]) {
      const reply = await createClient().chat.completions.create({ ...hello, ...limit });
      expect(reply.choices[0]).toMatchObject({
        finish_reason: 'length',
        message: { content: introduction.slice(0, 12) },
      });
      expect(reply.usage?.completion_tokens).toBe(3);
    }
    expect(
      (await createClient().chat.completions.create({ ...hello, max_tokens: 1000 })).choices[0]
        ?.finish_reason,
    ).toBe('stop');
  });

  it('ends before the first stop sequence it would say', async () => {
    const reply = await createClient().chat.completions.create({
      ...hello,
      stop: ['You said', 'demo', 'unsaid'],
    });
    expect(reply.choices[0]).toMatchObject({
      finish_reason: 'stop',
      message: { content: "This is Tollgate's " },
    });
  });

  it('has as many choices as were asked for, and counts them all', async () => {
    const [one, three] = await Promise.all([
      createClient().chat.completions.create(hello),
      createClient().chat.completions.create({ ...hello, n: 3 }),
    ]);
    expect(three.choices.map(({ index }) => index)).toEqual([0, 1, 2]);
    expect(three.usage?.completion_tokens).toBe((one.usage?.completion_tokens ?? 0) * 3);
  });

  it('is JSON if the client asks for JSON', async () => {
    const loose = await createClient().chat.completions.create({
      ...hello,
      response_format: { type: 'json_object' },
    });
    expect(JSON.parse(loose.choices[0]?.message.content ?? '')).toEqual({
      note: introduction,
      you_said: 'hello',
    });
    const schema = { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'] };
    const strict = await createClient().chat.completions.create({
      ...hello,
      response_format: { type: 'json_schema', json_schema: { name: 'reply', schema } },
    });
    expect(JSON.parse(strict.choices[0]?.message.content ?? '')).toEqual({ answer: 'example' });
  });
});
