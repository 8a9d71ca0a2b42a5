/** The API viewer of the operators' listener in a browser: its "Execute" shows the reply of the admin API. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openapi } from '../../plugins/operations/openapi.ts';
import { available } from '../support/available.ts';
import { isBrowserPresent, launchBrowser, missingBrowser } from '../support/browser.ts';
import { openConsole, openPage, signInOn, type ConsoleHarness } from '../support/operated-console.ts';

const hasBrowser = available(isBrowserPresent, missingBrowser);

describe.runIf(hasBrowser)("the operators' API viewer", () => {
  let open: ConsoleHarness;
  let browser: Browser;

  beforeAll(async () => {
    open = await openConsole({}, [openapi()]);
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await open.close();
  });

  /** Opens a call of the page, fills it in, and returns the status and body that the page shows for it. */
  async function execute(page: Page, method: string, path: string, body?: string): Promise<[string, string]> {
    const block = page
      .locator(`.opblock-${method}`)
      .filter({ has: page.locator(`.opblock-summary-path[data-path="${path}"]`) });
    if ((await block.locator('.execute').count()) === 0) {
      await block.locator('.opblock-summary-control').click();
      await block.getByRole('button', { name: 'Try it out' }).click();
    }
    if (body !== undefined) await block.locator('textarea').first().fill(body);
    await block.locator('.execute').click();
    const live = block.locator('.live-responses-table');
    await live.waitFor();
    const status = await live.locator('tbody .response-col_status').first().textContent();
    const text = await live.locator('tbody .response-col_description pre').first().textContent();
    return [(status ?? '').trim(), text ?? ''];
  }

  it('executes calls with the session of the console', async () => {
    const { page, complaints, origins } = await openPage(browser);
    await signInOn(page, open);
    await page.goto(`${open.adminUrl}/docs`);
    const [status, text] = await execute(page, 'get', '/admin/overview');
    expect([status.slice(0, 3), text]).toEqual(['200', expect.stringContaining('"totals"')]);
    const made = await execute(page, 'post', '/admin/keys', '{"account":"viewer","name":"from the viewer"}');
    expect(made[0].slice(0, 3)).toBe('201');
    expect(complaints).toEqual([]);
    expect([...origins]).toEqual([open.adminUrl]);
    await page.close();
  });

  it('executes calls with a secret that is typed in, and is refused without one', async () => {
    const { page, complaints } = await openPage(browser);
    await page.goto(`${open.adminUrl}/docs`);
    expect((await execute(page, 'get', '/admin/accounts'))[0].slice(0, 3)).toBe('401');
    await page.getByRole('button', { name: 'Authorize' }).first().click();
    await page.locator('.auth-container input').first().fill(open.secret);
    await page.locator('.auth-container').getByRole('button', { name: 'Apply credentials' }).first().click();
    await page.getByRole('button', { name: 'Close' }).first().click();
    await expect.poll(async () => (await execute(page, 'get', '/admin/accounts'))[0].slice(0, 3)).toBe('200');
    expect(complaints).toEqual([]);
    await page.close();
  });
});
