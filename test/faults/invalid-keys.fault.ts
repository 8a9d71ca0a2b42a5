/** Strangers who try keys: what the duration of a refusal reveals, and what they cost clients with a key. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { crc32 } from 'node:zlib';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createKeyring } from '../../plugins/meters/balance/keys.ts';
import { createSecret, hashSecret } from '../../plugins/shared/secret.ts';
import { buildStore, keyRecord } from '../balance/calls.ts';
import { askable, megabyte, openHeap } from '../support/memory-of.ts';
import { modelOf, openOperated, type Operated } from '../support/operated.ts';

/** How far apart two means are, in standard errors: more than 4.5 is no coincidence. */
function computeWelch(first: readonly number[], second: readonly number[]): number {
  const computeMean = (times: readonly number[]): number =>
    times.reduce((sum, time) => sum + time, 0) / times.length;
  const [one, other] = [computeMean(first), computeMean(second)];
  const computeVariance = (times: readonly number[], middle: number): number =>
    times.reduce((sum, time) => sum + (time - middle) ** 2, 0) / (times.length - 1) / times.length;
  return (one - other) / Math.sqrt(computeVariance(first, one) + computeVariance(second, other));
}

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** As an attacker would compute it who has read the sources. */
function computeChecksum(text: string): string {
  let rest = crc32(text);
  return Array.from({ length: 6 }, () => {
    const digit = alphabet.charAt(rest % alphabet.length);
    rest = Math.floor(rest / alphabet.length);
    return digit;
  })
    .toReversed()
    .join('');
}

const whole = 45;
const unsealed = whole - 6;
const scratch = Buffer.alloc(whole);

/**
 * A text that starts like a secret and continues at random; all are built in the same steps, so that none
 * differs in memory layout.
 */
function buildAttempt(base: string, kept: number, sealed: boolean): string {
  scratch.write(createSecret(), 'latin1');
  scratch.write(createSecret().slice(unsealed), unsealed, 'latin1');
  scratch.write(base.slice(0, kept), 'latin1');
  if (sealed) scratch.write(computeChecksum(scratch.toString('latin1', 0, unsealed)), unsealed, 'latin1');
  return scratch.toString('latin1');
}

const samples = 200_000;
const tries = 3;

const [held, strange] = [0, 1].map(() => Array.from({ length: 500 }, () => createSecret()));
const records = new Map((held ?? []).map((secret) => [hashSecret(secret), keyRecord(secret)]));
const keyring = createKeyring(() => buildStore({ findKey: async (hash) => records.get(hash) }));
const pick = (secrets: readonly string[] = []): string =>
  secrets[Math.floor(Math.random() * secrets.length)] ?? '';

/**
 * The t statistic of keys that exist, compared with keys built in the same way that do not; without the
 * slowest hundredth, which is the machine's own noise.
 */
async function compare(make: (base: string) => string): Promise<number> {
  const times: [held: number[], strange: number[]] = [[], []];
  for (let batch = 0; batch < 40; batch += 1) {
    const texts = Array.from({ length: samples / 40 }, (): [0 | 1, string] =>
      Math.random() < 0.5 ? [0, make(pick(held))] : [1, make(pick(strange))],
    );
    for (const [kind, text] of texts) {
      const began = process.hrtime.bigint();
      await keyring.verify(text);
      times[kind].push(Number(process.hrtime.bigint() - began));
    }
  }
  const slow = times.flat().toSorted((one, other) => one - other)[samples * 0.99] ?? Infinity;
  return computeWelch(
    times[0].filter((time) => time < slow),
    times[1].filter((time) => time < slow),
  );
}

it.each([
  ['all but its last characters', 33, false],
  ['half of it', 24, false],
  ['all but its checksum', unsealed, false],
  ['all but some characters, with a checksum that fits', 33, true],
  ['half of it, with a checksum that fits', 24, true],
] as const)(
  'the duration of a refusal does not reveal whether %s of a key belongs to a real one or to a random one',
  async (_, kept, sealed) => {
    const all: number[] = [];
    // A real difference shows every time; the machine's noise does not.
    while (all.length < tries && all.every((t) => Math.abs(t) >= 4.5))
      all.push(await compare((base) => buildAttempt(base, kept, sealed)));
    process.stdout.write(`t = ${all.map((t) => t.toFixed(2)).join(', ')}\n`);
    expect(Math.min(...all.map(Math.abs))).toBeLessThan(4.5);
  },
);

it('the duration of a refusal is measured precisely enough to tell a key from an invalid one', async () => {
  expect(Math.abs(await compare((base) => base))).toBeGreaterThan(4.5);
});

const flood = join(import.meta.dirname, '../support/key-flood.ts');
const perSecond = 5000;

interface Flooded {
  readonly answered: Readonly<Record<string, number>>;
}

async function tryKeys(url: string, keys: number, addresses: number): Promise<Flooded> {
  return JSON.parse(
    (
      await promisify(execFile)(process.execPath, [
        flood,
        url,
        String(keys),
        String(perSecond),
        String(addresses),
      ])
    ).stdout,
  );
}

describe('half a million guessed keys, five thousand a second,', () => {
  let operated: Operated;
  beforeAll(async () => {
    operated = await openOperated();
    await operated.verb('credit', 'add', 'default', '10000');
  });
  afterEach(() => operated.reset());

  it.each([1, 1000])(
    'from %i addresses open nothing and fill nothing, and a client with a key is served meanwhile',
    async (addresses) => {
      const gateway = await operated.start(askable);
      const body = {
        model: modelOf['chat-completions'],
        messages: [{ role: 'user', content: 'Hello there, who is it?' }],
      };
      const call = async (): Promise<void> => {
        const response = await operated.post(gateway, '/v1/chat/completions', body);
        await response.arrayBuffer();
        expect(response.status).toBe(200);
      };
      for (let warm = 0; warm < 1000; warm += 1) await call();
      const heap = await openHeap(gateway);
      const before = await heap.left();
      const over = new AbortController();
      const flooding = tryKeys(gateway.url, 500_000, addresses).finally(() => over.abort());
      let served = 0;
      for (; !over.signal.aborted; served += 1) await call();
      const { answered } = await flooding;
      const more = ((await heap.left()) - before) / megabyte;
      heap.close();
      process.stdout.write(`${served} calls meanwhile; ${more.toFixed(0)} MB more are kept at the end\n`);
      expect(answered).toEqual({ 401: 500_000 });
      expect(served).toBeGreaterThan(0);
      // A hash and an entry of each guess would be 50 MB.
      expect(more).toBeLessThan(20);
      await gateway.stop('SIGTERM');
      expect(await operated.verb('audit')).toMatchObject({ ok: true, pending: 0 });
    },
  );
});
