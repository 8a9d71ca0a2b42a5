/**
 * Checks that the fake vendors fail as scripted: with a fault that never happens, a test of the gateway
 * proves nothing.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createCaller, type Caller } from '../support/vendor/call.ts';
import { startVendors, type JournalEntry, type Scenario, type Vendors } from '../support/vendor/index.ts';

type Name = 'chat-completions' | 'responses' | 'messages' | 'generate-content';

interface Wire {
  readonly body: object;
  readonly model: string;
  readonly path: string;
  /** What every complete stream contains. */
  readonly end: string;
}

const question = [{ role: 'user', content: 'Hello!' }];
const gemini = 'gemini-2.5-flash';
const wires: Readonly<Record<Name, Wire>> = {
  'chat-completions': {
    model: 'gpt-4o',
    path: '/v1/chat/completions',
    body: { model: 'gpt-4o', stream: true, messages: question },
    end: '[DONE]',
  },
  responses: {
    model: 'gpt-4o',
    path: '/v1/responses',
    body: { model: 'gpt-4o', stream: true, input: question },
    end: 'response.completed',
  },
  messages: {
    model: 'claude-haiku-4-5',
    path: '/v1/messages',
    body: { model: 'claude-haiku-4-5', max_tokens: 100, stream: true, messages: question },
    end: 'message_stop',
  },
  'generate-content': {
    model: gemini,
    path: `/v1beta/models/${gemini}:streamGenerateContent?alt=sse`,
    body: { contents: [{ role: 'user', parts: [{ text: 'Hello!' }] }] },
    end: 'finishReason',
  },
};

let vendors: Vendors;
beforeAll(async () => {
  vendors = await startVendors();
});
afterEach(() => vendors.unscript());
afterAll(() => vendors.close());

function getVendor(name: Name): { readonly call: Caller; readonly getLast: () => JournalEntry | undefined } {
  const vendor =
    name === 'messages' ? vendors.anthropic : name === 'generate-content' ? vendors.google : vendors.openai;
  const headers = {
    authorization: `Bearer ${vendor.key}`,
    ...(name === 'messages' ? { 'anthropic-version': '2023-06-01' } : {}),
  };
  return { call: createCaller(vendor, wires[name].path, headers), getLast: () => vendor.journal.at(-1) };
}

const names: readonly Name[] = ['chat-completions', 'responses', 'messages', 'generate-content'];

describe.each(names)('the fake vendor of %s', (name) => {
  const { body, model, end } = wires[name];
  const words = ['a', 'b', 'c'];
  const stream = async (scenario: Scenario): Promise<string> => {
    vendors.script(model, scenario);
    return (await getVendor(name).call(body)).text;
  };

  it('replies as scripted, and completely if no fault is scripted', async () => {
    const text = await stream({ text: words });
    expect(text).toContain(end);
    expect(getVendor(name).getLast()).toMatchObject({
      end: 'complete',
      tokens: 3,
      billed: { completion: 3 },
      received: { leaked: [] },
    });
  });

  it('ends after two events with a proper end of the body, or by cutting the connection', async () => {
    const text = await stream({ text: words, cut: { how: 'end', events: 2 } });
    expect(text.match(/data: /g)).toHaveLength(2);
    expect(text).not.toContain(end);
    await expect(stream({ text: words, cut: { how: 'rst', events: 2 } })).rejects.toThrow();
    await expect(stream({ cut: { how: 'fin' } })).rejects.toThrow();
    expect(getVendor(name).getLast()).toMatchObject({ end: 'cut', status: undefined });
  });

  it('sends garbage in place of an event, and its bytes one by one', async () => {
    const frame = 'data: {"half\n\n';
    const text = await stream({ text: words, slivers: 1, inserts: [{ before: 1, frame }] });
    expect(text.indexOf('data: {"half')).toBeGreaterThan(0);
    expect(text.indexOf('data: {"half')).toBeLessThan(text.lastIndexOf('data: '));
  });

  it('sends an error in its own format in the middle of a stream', async () => {
    const text = await stream({ text: words, fail: { after: 2, error: { message: 'Out of luck.' } } });
    expect(text).toContain('Out of luck.');
    expect(text).not.toContain(end);
  });

  it('refuses before the first byte, and reports wrong usage', async () => {
    vendors.script(model, { reply: { status: 529, headers: { 'retry-after': '7' }, body: 'busy' } });
    const { status, headers, text } = await getVendor(name).call(body);
    expect({ status, retryAfter: headers.get('retry-after'), text }).toEqual({
      status: 529,
      retryAfter: '7',
      text: 'busy',
    });
    expect(await stream({ usage: 'missing' })).not.toMatch(/usage(Metadata)?":\{/);
  });

  it.each([{ endless: true }, { endlessLine: 1 }])(
    'sends until the client disconnects: %j',
    async (scenario) => {
      vendors.script(model, { text: words, ...scenario });
      const vendor =
        name === 'messages'
          ? vendors.anthropic
          : name === 'generate-content'
            ? vendors.google
            : vendors.openai;
      const headers = {
        authorization: `Bearer ${vendor.key}`,
        'content-type': 'application/json',
        'anthropic-version': '2023-06-01',
      };
      const response = await fetch(new URL(vendor.url).origin + wires[name].path, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      });
      let bytes = 0;
      for await (const part of response.body ?? []) {
        bytes += part.length;
        if (bytes > 200_000) break;
      }
      await expect.poll(() => vendor.journal.at(-1)?.end).toBe('closed-by-peer');
    },
  );
});

it('fails the test whose script makes no sense', async () => {
  const others = await startVendors();
  others.anthropic.script('claude-haiku-4-5', { text: ['a'], fail: { after: 50 } });
  const call = createCaller(others.anthropic, '/v1/messages', {
    'x-api-key': others.anthropic.key,
    'anthropic-version': '2023-06-01',
  });
  await call(wires.messages.body).catch(() => undefined);
  await expect(others.close()).rejects.toThrow('comes too late');
});
