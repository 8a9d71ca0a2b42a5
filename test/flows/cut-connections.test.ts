/**
 * Either side breaks off at any moment: the client never takes a part for the whole reply, nothing hangs, and
 * the call is settled once.
 */
import OpenAI from 'openai';
import { afterEach, beforeAll, expect, it } from 'vitest';
import type { Answered, End } from '../../core/index.ts';
import { findCount } from '../../core/index.ts';
import { openHarness, type Harness } from '../support/harness.ts';

const model = 'openai/gpt-4o-mini';
const body = { model, stream: true, messages: [{ role: 'user', content: 'Hello there, who is it?' }] };
const text = ['one ', 'two ', 'three ', 'four ', 'five'];

let harness: Harness;
beforeAll(async () => {
  harness = await openHarness({ settings: { timeouts: { idle: 1 } } });
});
afterEach(() => harness.vendor.unscript());

/** The end of the call that `run` makes. */
async function runToEnd(run: () => Promise<unknown>): Promise<End> {
  const before = harness.gateway.ends.length;
  await run();
  const end = (await harness.gateway.ended(before + 1))[before];
  if (!end) throw new Error('no end was observed');
  return end;
}

function requireAnswer(end: End): Answered {
  if (end.type !== 'answered') throw new Error(`it ended as ${end.type}`);
  return end;
}

it.each([
  ['closes', { cut: { how: 'fin', events: 3 } }],
  ['resets', { cut: { how: 'rst', events: 3 } }],
  ['ends as if the reply were complete', { cut: { how: 'end', events: 3 } }],
  ['says so in a chunk of its own', { fail: { after: 3, as: 'data' } }],
  ['says so in a named event', { fail: { after: 3, as: 'event' } }],
  ['says so inside a chunk and then sends [DONE]', { fail: { after: 3, as: 'chunk' } }],
  ['goes silent', { hold: 'forever', holdAfter: 3 }],
  [
    'sends more than a little garbage',
    { inserts: [{ before: 3, frame: 'data: {"choices":[{]]\n\n'.repeat(6) }] },
  ],
] as const)(
  'a provider that breaks off (it %s) leaves an error in the stream and never a success',
  async (_, scenario) => {
    harness.vendor.script('gpt-4o-mini', { text, ...scenario });
    let sent = '';
    const end = await runToEnd(async () => {
      sent = await (await harness.post(body)).text();
    });
    expect(sent).toContain('one ');
    expect(sent).not.toContain('[DONE]');
    expect(sent).not.toContain('"finish_reason":"stop"');
    expect(sent.trimEnd().split('\n\n').at(-1)).toMatch(/^event: error\ndata: \{"error":\{"message":".+"/);
    const { outcome, charge } = requireAnswer(end);
    expect(outcome).toBe('cut');
    expect(charge.basis).toBe('estimate');
    expect(findCount(charge.uses, 'output')).toBeGreaterThan(0);
  },
);

it('a provider that breaks off makes the SDK throw in the middle of its loop', async () => {
  harness.vendor.script('gpt-4o-mini', { text, cut: { how: 'rst', events: 3 } });
  const seen: string[] = [];
  const readStream = async (): Promise<void> => {
    for await (const chunk of await harness.client.chat.completions.create({
      model,
      messages: [{ role: 'user', content: 'a' }],
      stream: true,
    }))
      seen.push(chunk.choices[0]?.delta.content ?? '');
  };
  await expect(readStream()).rejects.toBeInstanceOf(OpenAI.APIError);
  expect(seen.join('')).toContain('one');
});

it.each(['fin', 'rst', 'end'] as const)(
  'a provider that breaks off inside a JSON reply (%s) causes a 502, and the call costs nothing',
  async (how) => {
    harness.vendor.script('gpt-4o-mini', { text, cut: { how, bytes: 60 } });
    const end = await runToEnd(async () => {
      const response = await harness.post({ ...body, stream: false });
      expect([response.status, await response.json()]).toMatchObject([
        502,
        { error: { code: 'upstream_error' } },
      ]);
    });
    expect(end).toMatchObject({ type: 'failed', charge: { cost: 0n } });
  },
);
