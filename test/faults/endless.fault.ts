/** A provider that would end its stream with silence, and is never silent. */
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, it } from 'vitest';
import { startFirehose } from '../support/endless-vendor.ts';
import { openOperated, type Operated } from '../support/operated.ts';

let operated: Operated;
beforeAll(async () => {
  operated = await openOperated();
});

it('two streams of a provider that never falls silent after its end are broken off', async () => {
  const firehose = await startFirehose(
    (number) => (number > 10 ? undefined : `${number} `),
    'never heard '.repeat(1000),
  );
  const gateway = await operated.start(firehose.environment);
  const streams = await Promise.all([1, 2].map(() => operated.stream(gateway, 'generate-content')));
  for (const stream of streams) {
    const text = await stream.text();
    expect(text).not.toContain('never heard');
    expect(text.slice(-1000)).toMatch(/data: \{"error":\{[^\n]*\r?\n\r?\n$/);
  }
  // Nothing reads from it any more.
  const measurePour = async (): Promise<number> => {
    const before = firehose.poured();
    await sleep(500);
    return firehose.poured() - before;
  };
  await expect.poll(measurePour, { timeout: 20_000 }).toBe(0);
  await firehose.close();
  await expect
    .poll(() => operated.verb('audit'), { timeout: 20_000, interval: 500 })
    .toMatchObject({ ok: true, pending: 0 });
  expect((await gateway.stop('SIGTERM')).code).toBe(0);
});
