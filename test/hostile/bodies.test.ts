/**
 * Malicious bodies get an error in the client's own format at every endpoint; the full form is among the
 * faults.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { endpoints } from './endpoints.ts';
import { readCorpus, openHostileHarness, sendHostile, type HostileHarness } from './inputs.ts';

let harness: HostileHarness;
beforeAll(async () => void (harness = await openHostileHarness()));
afterAll(() => harness.close());

function expectNothingFailed(): void {
  expect(
    harness.gateway.log.filter((line) => line.includes('"level":50') || line.includes('"level":60')),
  ).toEqual([]);
  expect(
    harness.gateway.ends.flatMap((end) =>
      end.type !== 'replayed' && end.error?.code === 'internal' ? [end.error] : [],
    ),
  ).toEqual([]);
  expect({}).not.toHaveProperty('polluted');
}

describe('every endpoint', () => {
  it.each(endpoints.map((endpoint) => [endpoint.path, endpoint] as const))(
    '(%s) answers a valid body',
    async (_, endpoint) => {
      expect(await harness.findFault({ endpoint, body: JSON.stringify(endpoint.body) })).toBeUndefined();
    },
  );

  it('answers the bodies of the corpus in its own format', async () => {
    const faults: string[] = [];
    for (const { name, input } of readCorpus()) {
      const fault = await harness.findFault(input).catch(String);
      if (fault !== undefined) faults.push(`${name}: ${fault.slice(0, 300)}`);
    }
    expect(faults).toEqual([]);
    expectNothingFailed();
  });

  it('answers many invalid bodies in its own format', async () => {
    const before = harness.gateway.ends.length;
    await sendHostile(harness, 700);
    // They fail in all sorts of places, and some are valid.
    expect(new Set(harness.gateway.ends.slice(before).map(({ type }) => type))).toEqual(
      new Set(['refused', 'failed', 'answered']),
    );
    expectNothingFailed();
    expect(await harness.gateway.verb('audit')).toMatchObject({ ok: true, pending: 0 });
  });
});
