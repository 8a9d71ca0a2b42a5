/** A long list in a browser: what a filter refuses, and the way back to where the reader was. */
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import { add, buildCall } from '../contract/made-calls.ts';
import { button, go, hasBrowser, open, openPages, page, rows } from './pages.ts';

describe.runIf(hasBrowser)('a long list of calls in a browser', () => {
  openPages();
  beforeAll(async () => {
    const store = await openSqlite({ file: join(open.harness.gateway.dataFolder, 'ledger.db') });
    const now = Date.now();
    await add(
      store,
      ...Array.from({ length: 450 }, (_, index) => buildCall(`call-${index}`, 'a', now - index)),
    );
    await store.close();
  });

  it('is as long, and at the same place, on the way back from a call and after a reload', async () => {
    await go('calls');
    for (const length of [100, 200]) {
      await expect.poll(() => rows('Calls').count()).toBe(length);
      await button('Load more').click();
    }
    await button('Show more rows').click();
    await expect.poll(() => rows('Calls').count()).toBe(300);
    await rows('Calls').nth(250).scrollIntoViewIfNeeded();
    const readPosition = (): Promise<unknown> => page.evaluate('Math.round(scrollY)');
    const position = await readPosition();
    expect(position).toBeGreaterThan(5000);
    await expect.poll(() => page.evaluate('Math.round(history.state.position)')).toBe(position);
    await rows('Calls').nth(250).getByRole('link').first().click();
    await page.getByRole('heading', { name: 'Call call-250' }).waitFor();
    expect(await readPosition()).toBe(0);
    await page.goBack();
    await expect.poll(readPosition).toBe(position);
    expect(await rows('Calls').count()).toBe(300);
    await page.reload();
    await expect.poll(readPosition).toBe(position);
    await go('models');
    expect(await readPosition()).toBe(0);
  });

  it('names a filter as the page does when it refuses what was typed', async () => {
    await go('calls');
    for (const [label, text, fault] of [
      ['Min cost in USD', 'abc', 'Min cost in USD: not an amount in USD'],
      ['Key', 'x'.repeat(300), 'Key: it has at most 200 characters'],
    ] as const) {
      await page.getByLabel(label, { exact: true }).fill(text);
      await page.getByLabel(label, { exact: true }).blur();
      await page.getByRole('alert').filter({ hasText: fault }).waitFor();
      await button('Clear').click();
    }
  });
});
