/** Notices of several processes, of one that is killed, and of a ledger that is away. */
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { lock } from '../balance/ledger-file.ts';
import type { FakeChannel } from '../support/channels/http.ts';
import { startSlack } from '../support/channels/slack.ts';
import { hello, openOperated, waitUntil, type Operated } from '../support/operated.ts';
import type { RunningGateway } from '../support/process.ts';

let operated: Operated;
let room: FakeChannel;
beforeAll(async () => void (operated = await openOperated()));
beforeEach(async () => void (room = await startSlack()));
afterEach(async () => {
  await operated.reset();
  await room.close();
});

async function start(server: string, more = ''): Promise<RunningGateway> {
  operated.configure(
    server,
    `(await import('tollgate/plugins/operations/notices')).notices(),
    (await import('tollgate/plugins/channels/slack')).slack({ url: '${room.url}', every: 0.1, ${more} }),`,
  );
  const gateway = await operated.start();
  const workers = Number(/workers: (\d)/.exec(server)?.[1] ?? 1);
  await waitUntil(() => gateway.printed().split(/is ready at|a worker is ready/).length === workers + 1);
  return gateway;
}

const findShown = (part: string | RegExp): number => room.shown.filter(({ text }) => text.match(part)).length;

/** Calls until the budget refuses. */
async function useUp(gateway: RunningGateway): Promise<void> {
  await waitUntil(async () => (await operated.post(gateway, '/v1/chat/completions', hello)).status === 402);
}

it('four processes tell once of a budget, of a ledger that is away, and of its return', async () => {
  await operated.verb('budgets', 'set', 'account', 'default', '0.0001/month');
  const gateway = await start('workers: 4');
  await useUp(gateway);
  await waitUntil(() => findShown('A budget refuses calls') === 1);
  // A message that is not noted before the ledger is away is sent again.
  await waitUntil(async () => JSON.stringify(await operated.verb('notices', 'list')).includes('"sent"'));
  const unlock = lock(join(operated.folder, 'ledger.db'));
  try {
    // Each worker notices by its calls.
    await waitUntil(async () => {
      await Promise.all(
        Array.from({ length: 8 }, async () =>
          (await operated.post(gateway, '/v1/chat/completions', hello)).text(),
        ),
      );
      return findShown('The ledger cannot be used') > 0;
    });
    // The others see the outage within the same beats.
    await new Promise((resolve) => setTimeout(resolve, 8000));
    expect(findShown(/^Critical: The ledger cannot be used\nThe gateway on “.*” cannot use its ledger/)).toBe(
      1,
    );
  } finally {
    unlock();
  }
  await waitUntil(() => findShown('Over: The ledger cannot be used') > 0);
  await new Promise((resolve) => setTimeout(resolve, 5000));
  expect(findShown('Over: The ledger cannot be used')).toBe(1);
  expect(findShown('Critical: The ledger cannot be used')).toBe(1);
  expect(findShown('A budget refuses calls')).toBe(1);
  await operated.verb('budgets', 'delete', '1');
  expect(await operated.audit()).toMatchObject({ ok: true });
});

it('a gateway that is killed after it sent and before it noted that sends once more', async () => {
  const [subject, limit] = ['project/x', '0.0001/week'];
  await operated.verb('budgets', 'set', 'tag', subject, limit, '--warn', 'none');
  const gateway = await start('', 'timeout: 3');
  // Slack takes it, and its answer never comes.
  room.failNext({ status: 0, shown: { text: 'Critical: A budget refuses calls', marks: [] } });
  const tagged = { ...hello, messages: [{ role: 'user', content: 'Hi' }] };
  await waitUntil(async () => {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${operated.key}`,
        'content-type': 'application/json',
        'x-tollgate-tags': subject,
      },
      body: JSON.stringify(tagged),
    });
    await response.text();
    return response.status === 402;
  });
  await waitUntil(() => room.count() === 1);
  await gateway.stop('SIGKILL');
  const next = await start('', 'timeout: 3');
  await waitUntil(() => findShown('A budget refuses calls') === 2);
  await new Promise((resolve) => setTimeout(resolve, 6000));
  expect(room.count()).toBe(2);
  expect(await next.stop('SIGTERM')).toMatchObject({ code: 0 });
});
