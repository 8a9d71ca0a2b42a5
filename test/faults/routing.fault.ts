/**
 * Routing over real sockets at full length: one slow provider of two, and a thousand clients of a dead
 * provider.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { balanced } from '../../plugins/routing/balanced.ts';
import { health } from '../../plugins/routing/health.ts';
import { keys } from '../../plugins/routing/keys.ts';
import { latency } from '../../plugins/routing/latency.ts';
import { preferences } from '../../plugins/routing/preferences.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { postJson } from '../support/post.ts';
import { chatReply } from '../support/replies.ts';
import {
  sendJson,
  startScriptedVendor,
  type Conduct,
  type ScriptedVendor,
} from '../support/scripted-vendor.ts';
import { acceptAnyKey, testProvider } from '../support/test-provider.ts';

/** Milliseconds. The slow one is slower than a busy machine makes the quick one. */
const quick = 200;
const slow = 20_000;
/** Calls a second, and seconds of them; the first five are not counted. */
const rate = 20;
const duration = 30;
const settling = 5;
const whole = chatReply('one', {}, [3, 4]);
const replyAfter =
  (milliseconds: number): Conduct =>
  (response) =>
    void setTimeout(() => sendJson(response, whole), milliseconds);
const refuseCall: Conduct = (response) => void response.writeHead(503).end();

function buildEndpoints(vendor: ScriptedVendor): Record<string, string> {
  return { 'chat-completions': `${vendor.origin}/v1/chat/completions` };
}

async function call(
  { url }: TestGateway,
  body: object = {},
  headers: Record<string, string> = {},
): Promise<Response> {
  const response = await postJson(
    `${url}/v1/chat/completions`,
    { model: 'house/model', messages: [{ role: 'user', content: 'Hi' }], ...body },
    headers,
  );
  await response.text();
  return response;
}

describe('one slow provider of two', () => {
  let vendors: ScriptedVendor[];
  let gateway: TestGateway;
  beforeAll(async () => {
    vendors = [await startScriptedVendor(replyAfter(slow)), await startScriptedVendor(replyAfter(quick))];
    const registered = vendors.map((vendor, index) =>
      testProvider({ name: index === 0 ? 'slow' : 'quick', endpoints: buildEndpoints(vendor) }),
    );
    gateway = await startGateway({
      plugins: [
        acceptAnyKey(),
        chatCompletions(),
        ...registered,
        preferences(),
        latency(),
        balanced(),
        health(),
      ],
    });
  });
  afterAll(async () => {
    await gateway.close();
    for (const vendor of vendors) await vendor.close();
  });

  it.each(['latency', 'balanced'])('(%s) gets at most one call in a hundred', async (routing) => {
    const calls: Promise<Response>[] = [];
    for (let count = 0; count < rate * duration; count += 1) {
      calls.push(call(gateway, { provider: { routing } }));
      await sleep(1000 / rate);
    }
    const settled = await Promise.all(calls.slice(rate * settling));
    const providers = settled.map(({ headers }) => headers.get('x-tollgate-provider'));
    expect(new Set(providers)).toContain('quick');
    expect(providers.filter((name) => name !== 'quick').length).toBeLessThanOrEqual(settled.length / 100);
  });
});

describe('a thousand clients of a dead provider', () => {
  it('call it 1.2 times each at most, under two names and models, and leave nothing reserved', async () => {
    const vendor = await startScriptedVendor(refuseCall);
    const providers = ['dead', 'mirror'].map((name) =>
      testProvider({ name, endpoints: buildEndpoints(vendor), models: [{}, { id: 'house/other' }] }),
    );
    const gateway = await startGateway({
      retries: { share: 0.2 },
      plugins: [
        bearer(),
        chatCompletions(),
        ...providers,
        preferences(),
        keys(),
        health(),
        balance({ firstCredit: '0' }),
      ],
    });
    const { key } = z
      .object({ key: z.string() })
      .parse(await gateway.verb('keys create', [], { account: 'tester', credit: '1000' }));
    const called = await Promise.all(
      Array.from({ length: 1000 }, () =>
        call(gateway, { provider: { fallback: 'house/other' } }, { authorization: `Bearer ${key}` }),
      ),
    );
    process.stdout.write(`${vendor.bodies.length} attempts for 1000 calls\n`);
    expect(called.every(({ status }) => status === 503)).toBe(true);
    expect(vendor.bodies.length).toBeGreaterThan(0);
    expect(vendor.bodies.length).toBeLessThanOrEqual(1200);
    expect(await gateway.verb('audit')).toMatchObject({ ok: true, pending: 0 });
    expect(
      await (
        await fetch(`${gateway.url}/v1/user/balance`, { headers: { authorization: `Bearer ${key}` } })
      ).json(),
    ).toMatchObject({ used: 0 });
    await gateway.close();
    await vendor.close();
  });
});
