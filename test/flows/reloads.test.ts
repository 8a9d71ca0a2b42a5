/** One gateway whose configuration changes while it works, for better and for worse. */
import { beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { hello, openOperated, waitUntil, type Operated } from '../support/operated.ts';
import type { RunningGateway } from '../support/process.ts';

let operated: Operated;
let gateway: RunningGateway;
beforeAll(async () => {
  operated = await openOperated();
  operated.configure('', 'demo()');
  gateway = await operated.start();
});

function call(more: object = {}): Promise<Response> {
  return operated.post(gateway, '/v1/chat/completions', { ...hello, ...more });
}

async function hasDemo(): Promise<boolean> {
  return (await (await fetch(`${gateway.url}/v1/models`)).text()).includes('demo/echo');
}

it('a configuration that changes takes effect soon, and a running stream keeps the old one', async () => {
  const release = operated.hold();
  const stream = await operated.stream(gateway);
  operated.configure('bodyLimit: 500');
  await waitUntil(async () => !(await hasDemo()));
  expect((await call({ user: 'a'.repeat(500) })).status).toBe(413);
  release();
  const sent = await stream.text();
  expect(sent).toContain('five');
  expect(sent).toContain('[DONE]');
  operated.vendors.unscript();
});

it.each([
  ['an unknown option', 'balance({ fiel: 1 })', 'unknown option \\"fiel\\"'],
  ['a syntax error', '((', 'gateway.config.ts'],
  [
    'a plugin that does not start',
    "{ name: 'broken', interface: 1, apply: ({ hooks }) => hooks.ready.tapPromise('broken', " +
      "async () => { throw new Error('out of luck'); }) }",
    'out of luck',
  ],
])(
  'a configuration that changes is refused where it has %s, and the old one keeps serving',
  async (_, plugins, message) => {
    operated.configure();
    await waitUntil(async () => !(await hasDemo()));
    const before = gateway.printed().length;
    operated.configure('', plugins);
    await waitUntil(() => gateway.printed().slice(before).includes('the new configuration was refused'));
    expect(gateway.printed().slice(before)).toContain(message);
    // The fault alone, as the start and `check` print it: an operator reads it, not our call stack.
    expect(gateway.printed().slice(before)).not.toContain('"stack"');
    expect((await call()).status).toBe(200);
    operated.configure('', 'demo()');
    await waitUntil(hasDemo);
  },
);

it('a configuration that changes names the changes that need a restart', async () => {
  operated.configure('maxConnections: 7, workers: 2');
  await waitUntil(() =>
    gateway.printed().includes('server.maxConnections, server.workers will change with the next start'),
  );
});

/** A plugin that counts, over all reloads, the configurations that it was in and those that are gone. */
const counting = `{
  name: 'counting', interface: 1,
  apply({ catalog, routes }) {
    const counts = (globalThis.counts ??= { applied: 0, collected: 0 });
    globalThis.registry ??= new FinalizationRegistry(() => void (counts.collected += 1));
    counts.applied += 1;
    globalThis.registry.register(catalog, undefined);
    routes.add({
      name: 'counts', method: 'GET', path: '/counts', access: 'public',
      encodeError: () => ({ status: 500, body: {} }), handle: () => ({ status: 200, body: counts }),
    });
  },
}`;
const counts = z.object({ applied: z.number(), collected: z.number() });

it('many reloads keep nothing of the configurations that they replace', async () => {
  operated.configure('', counting);
  const readCounts = async (): Promise<z.output<typeof counts>> =>
    counts.parse(await (await fetch(`${gateway.url}/counts`)).json());
  await waitUntil(() =>
    readCounts().then(
      () => true,
      () => false,
    ),
  );
  for (let reload = 0; reload < 10; reload += 1) {
    const { applied } = await readCounts();
    gateway.child.kill('SIGHUP');
    await waitUntil(async () => (await readCounts()).applied > applied);
  }
  // A call keeps its configuration until it ends; the current one remains.
  expect((await call()).status).toBe(200);
  await waitUntil(async () => {
    const { applied, collected } = await readCounts();
    return collected === applied - 1;
  });
  expect((await readCounts()).applied).toBeGreaterThanOrEqual(11);
});
