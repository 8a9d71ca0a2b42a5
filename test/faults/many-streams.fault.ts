/** A hundred streams of ten thousand events at once: whole and in order, in little memory. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startFirehose } from '../support/endless-vendor.ts';
import { megabyte, readMemory } from '../support/memory-of.ts';
import { openOperated, wires, type Operated } from '../support/operated.ts';
import { readNumbers } from '../support/read-numbers.ts';

let operated: Operated;
beforeAll(async () => {
  operated = await openOperated();
  // On a busy machine the first event of the last stream comes late.
  operated.configure('}, timeouts: { firstEvent: 700, write: 700');
  await operated.verb('credit', 'add', 'default', '100000');
});
afterAll(() => operated.close());

const streams = 100;
const events = 10_000;

/** How each protocol writes a piece of text; here every piece is a number. */
const piece = /"(?:content|text|delta)":"(\d+) "/g;

it.each(wires)('a hundred streams of ten thousand events of %s arrive whole and in order', async (wire) => {
  const firehose = await startFirehose((number) => (number > events ? undefined : `${number} `));
  const gateway = await operated.start(firehose.environment);
  const runRound = async (): Promise<number> => {
    const began = performance.now();
    const read = await Promise.all(
      Array.from({ length: streams }, async () => readNumbers(await operated.stream(gateway, wire), piece)),
    );
    expect(read).toEqual(read.map(() => events));
    return ((streams * events) / (performance.now() - began)) * 1000;
  };
  const warm = await runRound();
  const before = readMemory(gateway);
  const rates = [warm, await runRound(), await runRound()];
  const grown = (readMemory(gateway) - before) / megabyte;
  process.stdout.write(
    `${wire}: ${rates.map((rate) => rate.toFixed(0)).join(', ')} events/s, ${grown.toFixed(1)} ` +
      'MB more after two more rounds\n',
  );
  expect(grown).toBeLessThan(100);
  await firehose.close();
  expect((await gateway.stop('SIGTERM')).code).toBe(0);
  expect(await operated.verb('audit')).toMatchObject({ ok: true, pending: 0 });
});
