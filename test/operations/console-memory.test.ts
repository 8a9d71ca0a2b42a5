/** A console that is left open: thousands of live calls and many changes of page leave nothing behind. */
import type { CDPSession, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { closePages, hasBrowser } from '../support/browser.ts';
import { openConsole, openPage, signInOn, type ConsoleHarness } from '../support/operated-console.ts';

const callsPerVisit = 2000;

/** Events as the gateway sends them, in batches of a hundred calls that end. */
function buildLiveEvents(visit: number): string {
  const calls = Array.from({ length: callsPerVisit }, (_, index) => ({
    id: `req_${visit}_${index}`,
    started: '2026-11-22T18:00:00.000Z',
    account: 'tester',
    key: 'key_1',
    protocol: 'messages',
    operation: 'generate',
    stream: true,
    model: `openai/model-${index % 40}`,
    answered_by: null,
    provider: 'openai',
    outcome: index % 9 === 0 ? 'failed' : 'completed',
    status: 200,
    error_code: null,
    first_event_ms: 310,
    duration_ms: 1200,
    attempts: 1,
    uses: [
      { unit: 'input', count: 1200 },
      { unit: 'output', count: 340 },
    ],
    cost: '0.0123',
    cost_basis: 'usage',
  }));
  const batches = Array.from({ length: callsPerVisit / 100 }, (_, index) =>
    calls.slice(index * 100, index * 100 + 100),
  );
  return batches.map((batch) => `event: end\ndata: ${JSON.stringify(batch)}\n\n`).join('');
}

interface Held {
  readonly nodes: number;
  readonly listeners: number;
  readonly bytes: number;
}

async function measure(session: CDPSession): Promise<Held> {
  // Twice: what finalizers let go of is collected the second time.
  for (let round = 0; round < 2; round += 1) await session.send('HeapProfiler.collectGarbage');
  const { nodes, jsEventListeners: listeners } = await session.send('Memory.getDOMCounters');
  const { usedSize: bytes } = await session.send('Runtime.getHeapUsage');
  return { nodes, listeners, bytes };
}

describe.runIf(hasBrowser)('a console that is left open', () => {
  let open: ConsoleHarness;

  beforeAll(async () => {
    open = await openConsole();
  });
  afterAll(async () => {
    await closePages();
    await open.close();
  });

  /** Watches live calls, then opens other pages. */
  async function visitAll(page: Page): Promise<void> {
    await page.goto(`${open.adminUrl}/#/calls?show=live`);
    // More, if the page has connected again.
    await page.getByText(/0 running, \d+,000 ended while/).waitFor();
    expect(await page.getByRole('region', { name: 'Live calls' }).locator('tbody tr').count()).toBe(200);
    for (const [path, heading] of [
      ['models', 'Models'],
      ['accounts', 'Accounts and keys'],
      ['', 'Overview'],
    ] as const) {
      await page.goto(`${open.adminUrl}/#/${path}`);
      await page.getByRole('heading', { name: heading, exact: true }).waitFor();
      await expect.poll(() => page.locator('[aria-busy=true]').count()).toBe(0);
    }
  }

  it('shows the last 200 of thousands of calls, without more elements, listeners or memory', async () => {
    const { page, complaints } = await openPage();
    let visits = 0;
    await page.route('**/admin/events', (route) => {
      visits += 1;
      return route.fulfill({ contentType: 'text/event-stream', body: buildLiveEvents(visits) });
    });
    await signInOn(page, open);
    const session = await page.context().newCDPSession(page);
    for (let round = 0; round < 2; round += 1) await visitAll(page);
    const before = await measure(session);
    for (let round = 0; round < 3; round += 1) await visitAll(page);
    const after = await measure(session);
    expect(visits).toBeGreaterThanOrEqual(5);
    // One page's worth of elements may wait to be collected; three visits that left theirs would be far more.
    expect(after.nodes - before.nodes).toBeLessThan(2000);
    expect(after.listeners - before.listeners).toBeLessThan(200);
    expect(after.bytes - before.bytes).toBeLessThan(2_000_000);
    expect(complaints).toEqual([]);
    await page.close();
  });
});
