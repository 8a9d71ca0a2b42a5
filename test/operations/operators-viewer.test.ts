/** The API viewer of the operators' listener in a browser: its "Execute" shows the reply of the admin API. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openapi } from '../../plugins/operations/openapi.ts';
import { closePages, hasBrowser } from '../support/browser.ts';
import { openConsole, openPage, type ConsoleHarness } from '../support/operated-console.ts';

describe.runIf(hasBrowser)("the operators' API viewer", () => {
  let open: ConsoleHarness;

  beforeAll(async () => {
    open = await openConsole({}, [openapi()]);
  });
  afterAll(async () => {
    await closePages();
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

  it('executes calls with the session of the console or a typed secret, and no others', async () => {
    // One page for all of it, since it takes longer to draw than the calls take.
    const { page, complaints, origins } = await openPage();
    const press = (name: string): Promise<void> => page.getByRole('button', { name }).first().click();
    await page.goto(`${open.adminUrl}/docs`);
    expect((await execute(page, 'get', '/admin/accounts'))[0].slice(0, 3)).toBe('401');
    const [name = '', value = ''] = (await open.signIn()).split('=');
    await page.context().addCookies([{ name, value, url: open.adminUrl, sameSite: 'Strict' }]);
    const made = await execute(page, 'post', '/admin/keys', '{"account":"viewer","name":"from the viewer"}');
    expect([made[0].slice(0, 3), made[1]]).toEqual(['201', expect.stringContaining('from the viewer')]);
    await page.context().clearCookies();
    await press('Authorize');
    await page.locator('.auth-container input').first().fill(open.secret);
    await press('Apply credentials');
    await press('Close');
    await expect.poll(async () => (await execute(page, 'get', '/admin/accounts'))[0].slice(0, 3)).toBe('200');
    expect(complaints).toEqual([]);
    expect([...origins]).toEqual([open.adminUrl]);
    await page.close();
  });
});
