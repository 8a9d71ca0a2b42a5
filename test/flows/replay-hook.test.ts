/** A plugin that stores a reply and sends it again: the client gets the same reply, as a call of its own. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { definePlugin, type Replay } from '../../core/index.ts';
import { openHarness, type Harness } from '../support/harness.ts';

/** Stores replies by the text of their calls, and counts the calls that were made. */
const cache = definePlugin({
  name: 'cache',
  options: z.strictObject({}),
  apply({ hooks }) {
    const kept = new Map<string, Replay>();
    let made = 0;
    hooks.replay.tap('cache', (parsed) => {
      parsed.record(10_000);
      return kept.get(parsed.text);
    });
    hooks.authorize.tap('cache', (grant) => {
      made += 1;
      return { ...grant, headers: { ...grant.headers, 'x-calls-made': String(made) } };
    });
    hooks.meter.tap('cache', (end) => {
      if (end.type === 'answered' && end.recording?.whole) kept.set(end.exchange.text, end.recording);
      return undefined;
    });
  },
});

let harness: Harness;
beforeAll(async () => void (harness = await openHarness({ plugins: [cache()] })));
afterAll(() => harness.close());

it.each([false, true])(
  'a stored reply has the same bytes, its own id, and no rate-limit headers of the first (stream: %s)',
  async (stream) => {
    const ended = harness.gateway.ends.length;
    const body = { model: 'openai/gpt-4o-mini', stream, messages: [{ role: 'user', content: 'Hello!' }] };
    const first = await harness.post(body);
    const text = await first.text();
    const again = await harness.post(body);
    expect(await again.text()).toBe(text);
    expect([first.headers.get('x-calls-made'), again.headers.get('x-calls-made')]).toEqual([
      expect.any(String),
      null,
    ]);
    const ends = (await harness.gateway.ended(ended + 2)).slice(ended);
    expect(ends.map(({ type }) => type)).toEqual(['answered', 'replayed']);
    expect([first, again].map(({ headers }) => headers.get('x-request-id'))).toEqual(
      ends.map(({ exchange }) => exchange.id),
    );
    expect(again.headers.get('request-id')).toBe(again.headers.get('x-request-id'));
    expect(again.headers.get('x-tollgate-provider')).toBe(first.headers.get('x-tollgate-provider'));
  },
);
