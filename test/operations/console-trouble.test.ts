/** The console on a slow network, without the gateway, on a small screen, and after impatient clicks. */
import { describe, expect, it } from 'vitest';
import { configuration } from '../../plugins/operations/configuration.ts';
import { health } from '../../plugins/routing/health.ts';
import { openPage, signInOn } from '../support/operated-console.ts';
import {
  button,
  choose,
  dialog,
  chooseOfPage,
  downloadExport,
  go,
  hasBrowser,
  open,
  openPages,
  page,
  rows,
  watched,
} from './pages.ts';

/** Makes intervals 300 times as short. Runs in the browser. */
function hurry(): void {
  const { setInterval: real } = globalThis;
  Object.assign(globalThis, {
    setInterval: (act: () => void, interval: number) => real(act, interval / 300),
  });
}

describe.runIf(hasBrowser)('the console in trouble', () => {
  openPages([configuration(), health()]);

  it('shows figures that take longer to load than the pause between two loads', async () => {
    const { page: slow } = await openPage();
    await slow.addInitScript(hurry);
    let asked = 0;
    await slow.route('**/admin/overview*', async (route) => {
      asked += 1;
      // Several intervals of 100 ms.
      await new Promise((resolve) => setTimeout(resolve, 500));
      await route.continue();
    });
    await signInOn(slow, open);
    await slow.getByText('From', { exact: false }).and(slow.locator('.card > .dim')).waitFor();
    await expect.poll(() => asked).toBeGreaterThan(1);
    await slow.close();
  });

  it('loads each page of a list once, however often one clicks', async () => {
    const refused = { model: 'openai/none', messages: [] };
    for (let wave = 0; wave < 12; wave += 1)
      await Promise.all(
        Array.from({ length: 10 }, () => open.harness.post(refused).then((reply) => reply.text())),
      );
    const answered = { model: 'openai/gpt-4o-mini', messages: [{ role: 'user', content: 'Hello!' }] };
    await (await open.harness.post(answered)).text();
    await open.harness.gateway.ended(121);
    await go('calls');
    await expect.poll(() => rows('Calls').count()).toBe(100);
    const both = Promise.withResolvers<void>();
    let asked = 0;
    await page.route('**/admin/calls?after=*', async (route) => {
      asked += 1;
      if (asked === 2) both.resolve();
      await both.promise;
      await route.continue();
    });
    const replies = Promise.all(
      [0, 1].map((nth) => {
        let seen = 0;
        return page.waitForResponse((reply) => reply.url().includes('after=') && seen++ === nth);
      }),
    );
    await button('Load more').dblclick();
    await replies;
    await expect.poll(() => rows('Calls').count()).toBe(121);
    const csv = (await downloadExport('These rows as CSV')).trim().split('\r\n');
    expect(csv).toHaveLength(122);
    expect(csv[1]).toContain(',completed,');
  });

  it('drops a page of a list that is no longer shown', async () => {
    await go('calls');
    await expect.poll(() => rows('Calls').count()).toBe(100);
    const { promise, resolve } = Promise.withResolvers<void>();
    await page.route('**/admin/calls?after=*', async (route) => {
      await promise;
      await route.continue();
    });
    const late = page.waitForResponse((reply) => reply.url().includes('after='));
    await button('Load more').click();
    await page.getByLabel('Outcome').selectOption('aborted');
    await page.getByText('No stored calls match these filters.').waitFor();
    resolve();
    await late;
    await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))');
    expect(await rows('Calls').count()).toBe(0);
  });

  it('shows that the rows of a table are those of the filters before', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    await page.route('**/admin/calls?outcome=completed', (route) => promise.then(() => route.continue()));
    await go('calls');
    await page.getByLabel('Outcome').selectOption('completed');
    const table = page.locator('section.table');
    await expect.poll(() => table.getAttribute('aria-busy')).toBe('true');
    resolve();
    await expect.poll(() => table.getAttribute('aria-busy')).toBe(null);
    expect(await rows('Calls').count()).toBe(1);
  });

  it('shows no button that moves as soon as the page has its data, and says that it loads', async () => {
    const { page: slow } = await openPage();
    await signInOn(slow, open);
    const data = Promise.withResolvers<void>();
    await slow.route('**/admin/config', (route) => data.promise.then(() => route.continue()));
    await slow.getByRole('link', { name: 'Configuration' }).click();
    await slow.locator('main').getByText('Loading …').waitFor();
    await slow.getByRole('heading', { name: 'Configuration' }).waitFor();
    expect(await slow.getByRole('button', { name: 'Reload' }).count()).toBe(0);
    data.resolve();
    await slow.getByRole('button', { name: 'Reload' }).waitFor();
    await slow.close();
  });

  it('stays signed in, and says why, if the gateway cannot end the session', async () => {
    await go('accounts');
    await page.route('**/console/session', (route) => route.abort());
    await button('Sign out').click();
    await page.locator('.notice').getByText('Cannot reach the gateway. Is it running?').waitFor();
    expect(await page.getByRole('heading', { name: 'Accounts and keys' }).count()).toBe(1);
  });

  const failing = { status: 503, json: { error: { message: 'The ledger is away.', param: null } } };

  it('says why what a form sent was refused, also if Escape has closed the form', async () => {
    await go('accounts/tester');
    const { promise, resolve } = Promise.withResolvers<void>();
    await page.route('**/admin/adjustments', (route) => promise.then(() => route.fulfill(failing)));
    await chooseOfPage('Adjust');
    await dialog().getByLabel('Amount in USD').fill('1');
    await dialog().getByLabel('Reason').fill('A gift.');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Escape');
    await dialog().waitFor({ state: 'detached' });
    resolve();
    await page.locator('.notice').getByText('The ledger is away.').waitFor();
  });

  it('says that what a form sent was not done if the session has ended', async () => {
    await page.route('**/admin/adjustments', (route) => route.fulfill({ ...failing, status: 401 }));
    await chooseOfPage('Adjust');
    await dialog().getByLabel('Amount in USD').fill('1');
    await dialog().getByLabel('Reason').fill('A gift.');
    await page.keyboard.press('Enter');
    await page.locator('.notice').getByText('Your session ended before this was done.').waitFor();
    await page.getByLabel('Operator secret or key').fill(open.secret);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'tester' }).waitFor();
  });

  it('shows a new secret though its settings fail to load, also if Enter is pressed twice', async () => {
    await page.route('**/console/facts', (route) => route.fulfill(failing));
    await button('New key').click();
    await page.keyboard.press('Enter');
    await dialog().getByText('it will not be shown again').waitFor();
    expect(await dialog().locator('pre').first().textContent()).toMatch(/^sk-/);
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Copy secret');
    await page.keyboard.press('Escape');
  });

  it('deletes once, however often one clicks', async () => {
    await open.harness.gateway.newKey({ account: 'doubled' });
    await go('accounts/doubled');
    let asked = 0;
    const { promise, resolve } = Promise.withResolvers<void>();
    await page.route('**/admin/keys/*', (route) => {
      asked += 1;
      return promise.then(() => route.continue());
    });
    await choose('Delete');
    await dialog().getByRole('button', { name: 'Delete' }).dblclick();
    await dialog().waitFor({ state: 'detached' });
    resolve();
    await page.getByText('The key is deleted.').waitFor();
    expect(asked).toBe(1);
  });

  it('does not call the configuration invalid because the gateway cannot be reached', async () => {
    await go('configuration');
    await page.route('**/admin/config/check', (route) => route.abort());
    await button('What would change?').click();
    await page.getByRole('alert').getByText('Cannot reach the gateway. Is it running?').waitFor();
    expect(await page.getByText('The file is invalid').count()).toBe(0);
  });

  it('forgets an error once nothing is asked for any more', async () => {
    await go('?from=2020-01-01');
    await page.getByRole('alert').waitFor();
    await page.getByLabel('By', { exact: true }).selectOption('tag');
    await page.getByText('Name the tag to group by.').waitFor();
    await page.getByRole('alert').waitFor({ state: 'detached' });
  });

  it('says nothing about an example of prices that have not been loaded', async () => {
    await page.route('**/admin/models', (route) => route.abort());
    await go('models');
    await page.getByRole('alert').waitFor();
    expect(await page.getByText('The example is').count()).toBe(0);
    await page.unroute('**/admin/models');
    await button('Try again').click();
    await page.getByText('The example is a call of 1,000 tokens in, 500 out, of one').waitFor();
  });

  it('closes a dialog when a link in it, or a step back, leads to another page', async () => {
    const openModel = () => page.getByRole('button', { name: 'openai/gpt-4o-mini', exact: true }).click();
    await go('models?search=gpt-4o-mini');
    await openModel();
    await dialog().getByRole('link', { name: 'Calls of this model' }).click();
    await page.getByRole('heading', { name: 'Calls' }).waitFor();
    await expect.poll(() => dialog().count()).toBe(0);
    await page.goBack();
    await openModel();
    await dialog().waitFor();
    await page.goForward();
    await page.getByRole('heading', { name: 'Calls' }).waitFor();
    await expect.poll(() => dialog().count()).toBe(0);
  });

  it('sorts rows without a value to the end, whichever way', async () => {
    const data = ['2', null, '10'].map((available, index) => ({
      account: `account-${index}`,
      parent: null,
      available,
    }));
    await page.route('**/admin/accounts?*', (route) => route.fulfill({ json: { data, next: null } }));
    await go('accounts');
    for (const sorted of [
      ['$10.00', '$2.00', '–'],
      ['$2.00', '$10.00', '–'],
    ]) {
      await button('Available').click();
      await expect.poll(() => rows('Accounts').locator('td:nth-child(2)').allTextContents()).toEqual(sorted);
    }
  });

  it('writes the number of rows like other figures', async () => {
    const data = Array.from({ length: 1234 }, (_, index) => ({ account: `account-${index}`, parent: null }));
    await page.route('**/admin/accounts?*', (route) => route.fulfill({ json: { data, next: null } }));
    await go('accounts');
    await page.getByText('1,234 rows', { exact: true }).waitFor();
    await page.getByRole('searchbox').fill('account-12');
    await page.getByText('45 of 1,234 rows', { exact: true }).waitFor();
  });

  it('shows a whole secret beside the button that copies it, and says that it was copied', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await go('accounts/tester');
    await button('New key').click();
    await dialog().getByRole('button', { name: 'Create key' }).click();
    const code = dialog().locator('.code').first();
    await code.waitFor();
    const [text, copy] = await Promise.all([
      code.locator('pre').boundingBox(),
      code.getByRole('button').boundingBox(),
    ]);
    expect((text?.x ?? 0) + (text?.width ?? 0)).toBeLessThanOrEqual(copy?.x ?? 0);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await code.getByRole('button').click();
    // Above the dialog, which covers what is outside.
    await dialog().getByRole('status').getByText('Copied').waitFor();
    await page.keyboard.press('Escape');
  });

  it('covers no state of a provider with the buttons beside it', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await go('providers');
    const row = page.locator('.card tbody tr', { hasText: 'openai/gpt-4o-mini' });
    const [state, buttons] = await Promise.all([
      row.locator('.badge').boundingBox(),
      row.locator('td.actions').boundingBox(),
    ]);
    // The row is a card, with its buttons on a line of their own.
    expect((state?.y ?? 0) + (state?.height ?? 0)).toBeLessThanOrEqual(buttons?.y ?? 0);
  });

  it('has all links and buttons of its navigation within reach on a low screen', async () => {
    await page.setViewportSize({ width: 960, height: 360 });
    await go('');
    await button('Sign out').scrollIntoViewIfNeeded();
    const box = await button('Sign out').boundingBox();
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(360);
  });

  it('throws nothing in the browser', () => {
    expect(watched.complaints).toEqual([]);
  });
});
