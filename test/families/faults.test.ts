/**
 * Faults on either side of calls of the families: nothing is charged for no answer, a part that fails ends
 * the others, no half of a reply is passed on, and nothing stays open in the gateway or in its books.
 */
import { once } from 'node:events';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { sendJson, type Conduct } from '../support/scripted-vendor.ts';
import { answerWell, calls, openFamilies, type FamilyCall, type FamilyHarness } from './calls.ts';

let families: FamilyHarness;
beforeAll(async () => {
  families = await openFamilies({ timeouts: { firstEvent: 2, reply: 2, idle: 2 }, retries: { attempts: 1 } });
});
afterEach(async () => {
  families.vendor.conduct(answerWell);
  await expect.poll(() => families.vendor.openRequests()).toBe(0);
  await families.expectCleanBooks();
});

const cases = calls.map((call) => [call.name, call] as const);

/** The place of the body that fails: the third, if there are several. */
const findPlace = ({ parts }: FamilyCall): number => (parts > 1 ? 2 : 0);

/** Answers well until the body that fails. */
function failAt(place: number, fault: Conduct): Conduct {
  let count = 0;
  return (response, request, body) => {
    const conduct = count === place ? fault : answerWell;
    count += 1;
    conduct(response, request, body);
  };
}

const errorSchema = z.union([
  z.looseObject({ error: z.looseObject({ message: z.string() }) }).transform(({ error }) => error.message),
  z.looseObject({ message: z.string() }).transform(({ message }) => message),
]);

function readMessage(text: string): string {
  return errorSchema.parse(JSON.parse(text));
}

const open: Conduct = (response) => {
  response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
  response.write('{"object":"list","data":[');
};

/** OpenAI's clients get a 502, and Google's, which have none, a 503. So do those of a vendor that is busy. */
const failed = [502, 503];
const silent = [504];

const faults: Readonly<Record<string, readonly [statuses: readonly number[], fault: Conduct]>> = {
  'resets the connection': [failed, (response) => void response.socket?.resetAndDestroy()],
  'is busy': [[429], (response) => sendJson(response, { message: 'busy' }, 429, { 'retry-after': '60' })],
  fails: [failed, (response) => sendJson(response, { error: { message: 'broken' } }, 500)],
  'does not know our key': [failed, (response) => sendJson(response, { message: 'no such key' }, 401)],
  'sends a page': [
    failed,
    (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
  ],
  'sends what is no JSON': [
    failed,
    (response) => void response.writeHead(200, { 'content-type': 'application/json' }).end('{"data":['),
  ],
  'sends something else': [failed, (response) => sendJson(response, { ok: true })],
  'says 200 of an error': [failed, (response) => sendJson(response, { error: { message: 'overloaded' } })],
  'breaks off in the middle': [
    failed,
    (response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '5000' });
      response.write('{"object":"list","data":[', () => void response.socket?.resetAndDestroy());
    },
  ],
  'never answers': [silent, () => undefined],
  'never ends': [silent, open],
  'sends without end': [
    [...failed, ...silent],
    (response, request, body) => {
      open(response, request, body);
      const write = (): void => {
        while (!response.destroyed && response.write(' '.repeat(65_536)));
        if (!response.destroyed) response.once('drain', write);
      };
      write();
    },
  ],
};

describe.each(Object.entries(faults))('a vendor that %s', (_, [statuses, fault]) => {
  it.each(cases)('fails the call, which costs nothing, and no other after it: %s', async (_name, call) => {
    const { gateway, vendor, post } = families;
    const ended = gateway.ends.length;
    vendor.conduct(failAt(findPlace(call), fault));
    const response = await post(call);
    const text = await response.text();
    expect(statuses).toContain(response.status);
    expect(readMessage(text)).not.toMatch(/^$|no such key|<html/);
    if (response.status === 429) expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    const end = (await gateway.ended(ended + 1))[ended];
    expect(end).toMatchObject({ type: 'failed', charge: { cost: 0n } });
    vendor.conduct(answerWell);
    expect((await post(call)).status).toBe(200);
  });
});

it.each(calls.filter(({ parts }) => parts === 6).map((call) => [call.name, call] as const))(
  'the failure of the third part waits for those under way, and sends none after it: %s',
  async (_, call) => {
    const { gateway, vendor, post } = families;
    const [ended, asked] = [gateway.ends.length, vendor.bodies.length];
    const waiting: (() => void)[] = [];
    let count = 0;
    vendor.conduct((response, request, body) => {
      const place = count;
      count += 1;
      if (place === 0) return answerWell(response, request, body);
      waiting.push(() =>
        place === 2 ? sendJson(response, { message: 'broken' }, 500) : answerWell(response, request, body),
      );
    });
    const posted = post(call);
    // The first was answered, and four are asked at once.
    await expect.poll(() => waiting.length).toBe(4);
    waiting.splice(1, 1)[0]?.();
    await expect.poll(() => vendor.openRequests()).toBe(3);
    expect(gateway.ends).toHaveLength(ended);
    for (const answer of waiting) answer();
    expect((await posted).status).toBe(502);
    expect(vendor.bodies.length - asked).toBe(5);
    expect((await gateway.ended(ended + 1))[ended]).toMatchObject({ charge: { cost: 0n } });
  },
);

describe('a client that leaves', () => {
  it.each(cases)('while the vendor works ends its work, and pays for what was sent: %s', async (_, call) => {
    const { gateway, vendor, post } = families;
    const [ended, leaving] = [gateway.ends.length, new AbortController()];
    const closed = Promise.withResolvers<void>();
    vendor.conduct(
      failAt(findPlace(call), (response) => {
        void once(response, 'close').then(() => closed.resolve());
        leaving.abort();
      }),
    );
    await expect(post(call, { signal: leaving.signal })).rejects.toThrow();
    await closed.promise;
    const end = (await gateway.ended(ended + 1))[ended];
    expect(end).toMatchObject({ error: { code: 'client_gone' }, charge: { basis: 'estimate' } });
    if (end?.type !== 'failed') throw new Error(`it ended as ${end?.type}`);
    expect(end.charge.cost).toBeGreaterThan(0n);
  });

  it.each(cases)('as the last of the reply arrives is charged once, or not at all: %s', async (_, call) => {
    const { gateway, vendor, post } = families;
    const [ended, leaving] = [gateway.ends.length, new AbortController()];
    vendor.conduct((response, request, body) => {
      answerWell(response, request, body);
      response.once('finish', () => leaving.abort());
    });
    await post(call, { signal: leaving.signal })
      .then((response) => response.text())
      .catch(() => undefined);
    const end = (await gateway.ended(ended + 1))[ended];
    expect(['failed', 'answered']).toContain(end?.type);
  });
});
