/** Which call holds an idempotency key, and for how long. */
import { expect, it } from 'vitest';
import type { Claim } from '../../plugins/meters/balance/store.ts';
import { progress, quote, settlement } from '../balance/calls.ts';
import { request, type Bench } from './bench.ts';

export function testClaims({ account, opened, store }: Bench): void {
  const buildClaim = (name: string, more: Partial<Claim> = {}): Claim => ({
    name: `claim-${name}`,
    fingerprint: 'body',
    expires: 9000,
    ...more,
  });
  const outcome = {
    status: 200,
    headers: { 'content-type': 'text/plain' },
    body: Buffer.from('hellö'),
    whole: true,
  };
  const findClaim = async (name: string, at = 2000) => {
    const record = await store().findClaim({ name: `claim-${name}`, at });
    return record?.outcome
      ? { ...record, outcome: { ...record.outcome, body: Buffer.from(record.outcome.body).toString() } }
      : record;
  };

  it('claims go to one of the calls that ask at once; the others learn which call has it', async () => {
    const name = await account(1000n);
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        store().reserve(request(`${name}-${index}`, name, { claim: buildClaim(name) })),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual([
      'reserved',
      ...Array.from({ length: 49 }, () => 'claimed'),
    ]);
    expect(answers[1]).toEqual({
      status: 'claimed',
      claim: { ...buildClaim(name), call: `${name}-0`, state: 'running', outcome: undefined },
    });
    expect(await store().readBalance(name)).toEqual({ total: 1000n, used: 0n, pending: 10n });
  });

  it('claims keep the outcome of a posted call until they expire', async () => {
    const name = await account(100n);
    await store().reserve(request(`${name}-1`, name, { claim: buildClaim(name) }));
    expect(await findClaim(name)).toMatchObject({ state: 'running', outcome: undefined });
    await store().settle(settlement(`${name}-1`, 4n, { outcome }));
    expect(await findClaim(name)).toEqual({
      ...buildClaim(name),
      call: `${name}-1`,
      state: 'done',
      outcome: { ...outcome, body: 'hellö' },
    });
    expect(
      await store().reserve(
        request(`${name}-2`, name, { claim: buildClaim(name, { fingerprint: 'other' }) }),
      ),
    ).toMatchObject({ status: 'claimed', claim: { fingerprint: 'body' } });
    expect(await findClaim(name, 9000)).toBeUndefined();
    const next = buildClaim(name, { expires: 20_000 });
    expect(await store().reserve(request(`${name}-3`, name, { claim: next, at: 9000 }))).toMatchObject({
      status: 'reserved',
    });
    expect(await findClaim(name, 9000)).toEqual({
      ...next,
      call: `${name}-3`,
      state: 'running',
      outcome: undefined,
    });
  });

  it('claims are free again if nothing was owed or nothing could be reserved', async () => {
    const name = await account(100n);
    await store().reserve(request(`${name}-1`, name, { claim: buildClaim(name) }));
    await store().settle(settlement(`${name}-1`, undefined, { outcome }));
    expect(await findClaim(name)).toBeUndefined();
    expect(
      await store().reserve(request(`${name}-2`, name, { claim: buildClaim(name), quotes: [quote(101n)] })),
    ).toMatchObject({ status: 'short' });
    expect(await findClaim(name)).toBeUndefined();
  });

  it('claims are never taken from a running call, however long it runs', async () => {
    const name = await account(100n);
    await store().reserve(request(`${name}-1`, name, { claim: buildClaim(name) }));
    expect(
      await store().reserve(request(`${name}-2`, name, { claim: buildClaim(name), at: 99_000 })),
    ).toMatchObject({ status: 'claimed' });
  });

  it('claims end without an outcome if a call was recovered as owed, and are free otherwise', async () => {
    const name = await account(100n);
    const other = await opened().another();
    await other.reserve(request(`${name}-1`, name, { claim: buildClaim(`${name}-sent`) }));
    await other.reserve(request(`${name}-2`, name, { claim: buildClaim(`${name}-unsent`) }));
    await other.beat({
      lease: 1,
      progress: [progress(`${name}-1`, 4n), progress(`${name}-2`, 0n, { sent: false })],
    });
    await store().recover({
      owner: other.owner,
      beat: (await store().listOwners()).find(({ owner }) => owner === other.owner)?.beat ?? 0,
      limit: 10,
      at: 5000,
    });
    expect(await findClaim(`${name}-sent`)).toMatchObject({ state: 'done', outcome: undefined });
    expect(await findClaim(`${name}-unsent`)).toBeUndefined();
    await other.close();
  });

  it('claims are swept once they expire, not before and not while their calls run', async () => {
    const name = await account(100n);
    for (const word of ['old', 'new', 'running']) {
      await store().reserve(
        request(`${name}-${word}`, name, {
          claim: buildClaim(`${name}-${word}`, { expires: word === 'new' ? 9000 : -5 }),
          at: -10,
        }),
      );
      if (word !== 'running') await store().settle(settlement(`${name}-${word}`, 1n, { outcome }));
    }
    expect(await store().sweep({ at: 0, limit: 10 })).toBe(1);
    expect(
      [
        await findClaim(`${name}-old`, -6),
        await findClaim(`${name}-new`),
        await findClaim(`${name}-running`),
      ].map((record) => record?.state),
    ).toEqual([undefined, 'done', 'running']);
  });
}
