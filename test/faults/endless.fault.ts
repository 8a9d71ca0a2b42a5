/** Providers that never stop sending, in front of two hundred clients of all protocols. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startFirehose, type Firehose } from '../support/endless-vendor.ts';
import { openOperated, wires, type Operated, type Wire } from '../support/operated.ts';
import type { RunningGateway } from '../support/process.ts';

let operated: Operated;
beforeAll(async () => {
  operated = await openOperated();
  await operated.verb('credit', 'add', 'default', '1000');
});
afterEach(() => operated.reset());
afterAll(() => operated.close());

const clients = 200;

/** What each of so many clients receives, with its protocol. */
function callAll(
  gateway: RunningGateway,
  families: readonly Wire[] = wires,
  count = clients,
): Promise<(readonly [Wire, string])[]> {
  const called = Array.from({ length: count / families.length }, () =>
    families.map(async (wire) => [wire, await (await operated.stream(gateway, wire)).text()] as const),
  );
  return Promise.all(called.flat());
}

async function expectSettled(gateway: RunningGateway): Promise<void> {
  await expect
    .poll(() => operated.verb('audit'), { timeout: 20_000, interval: 500 })
    .toMatchObject({ ok: true, pending: 0 });
  expect((await gateway.stop('SIGTERM')).code).toBe(0);
}

const longest = 10;
const broken: Readonly<Record<Wire, RegExp>> = {
  'chat-completions': /data: \{"error":\{[^\n]*\n\n$/,
  responses: /event: response\.failed\n[^\n]*\n\n(data: \[DONE\]\n\n)?$/,
  messages: /event: error\n[^\n]*\n\n$/,
  'generate-content': /data: \{"error":\{[^\n]*\r?\n\r?\n$/,
};

/** Waits until nothing reads from it any more, and ends it. */
async function expectSilence(firehose: Firehose): Promise<void> {
  const measurePour = async (): Promise<number> => {
    const before = firehose.poured();
    await sleep(500);
    return firehose.poured() - before;
  };
  await expect.poll(measurePour, { timeout: 20_000 }).toBe(0);
  await firehose.close();
}

describe('two hundred streams', () => {
  it("that never end get their protocol's error at the maximum duration, and release providers", async () => {
    operated.configure(`}, timeouts: { call: ${longest}`);
    const gateway = await operated.start();
    operated.vendors.script('*', { text: ['word '], endless: true, delayEvents: 100 });
    const began = performance.now();
    for (const [wire, text] of await callAll(gateway))
      expect([wire, text.includes('word'), text.slice(-1000)]).toEqual([
        wire,
        true,
        expect.stringMatching(broken[wire]),
      ]);
    expect(performance.now() - began).toBeLessThan(3 * longest * 1000);
    const { openai, anthropic, google } = operated.vendors;
    await expect
      .poll(() => [openai, anthropic, google].flatMap(({ journal }) => journal.map(({ end }) => end)), {
        timeout: 10_000,
      })
      .toEqual(Array.from({ length: clients }, () => 'closed-by-peer'));
    await expectSettled(gateway);
  });

  it('are complete when the provider sends more after the end, and its connection is closed', async () => {
    const firehose = await startFirehose((number) => (number > 10 ? undefined : `${number} `), 'never heard');
    const gateway = await operated.start(firehose.environment);
    for (const [wire, text] of await callAll(gateway, ['chat-completions', 'messages'])) {
      expect([wire, text.includes('10 '), text.includes('never heard'), text.slice(-1000)]).toEqual([
        wire,
        true,
        false,
        expect.stringMatching(/\[DONE\]\n\n$|message_stop[^\n]*\n\n$/),
      ]);
    }
    await expectSilence(firehose);
    await expectSettled(gateway);
  });

  it('of providers that would end with silence, and are never silent, are broken off', async () => {
    const firehose = await startFirehose(
      (number) => (number > 10 ? undefined : `${number} `),
      'never heard '.repeat(1000),
    );
    const gateway = await operated.start(firehose.environment);
    for (const [wire, text] of await callAll(gateway, ['generate-content'], 2))
      expect([text.includes('never heard'), text.slice(-1000)]).toEqual([
        false,
        expect.stringMatching(broken[wire]),
      ]);
    await expectSilence(firehose);
    await expectSettled(gateway);
  });
});
