/** Where the focus of the keyboard goes when what has it disappears. */
import { describe, expect, it } from 'vitest';
import { health } from '../../plugins/routing/health.ts';
import {
  button,
  chooseOfPage,
  dialog,
  go,
  hasBrowser,
  open,
  openPages,
  page,
  rows,
  watched,
} from './pages.ts';

describe.runIf(hasBrowser)('the focus', () => {
  openPages([health()]);

  const readFocus = (): Promise<unknown> =>
    page.evaluate(`(({ ariaLabel, textContent, localName, className }) =>
      ariaLabel ?? (localName === 'main' ? className : textContent))(document.activeElement)`);

  it('goes from a deleted row to the one in its place, and at last to the table', async () => {
    for (const name of ['one', 'two', 'three'])
      await open.harness.gateway.newKey({ account: 'focused', name });
    await go('accounts/focused');
    await expect.poll(() => rows('Keys').count()).toBe(3);
    await page.getByRole('button', { name: 'Key', exact: true }).click();
    // By name: one, three, two.
    for (const [gone, next] of [
      ['three', 'Actions for the key two'],
      ['two', 'Actions for the key one'],
      ['one', 'Keys, scrollable'],
    ] as const) {
      await page.getByRole('button', { name: `Actions for the key ${gone}` }).focus();
      await page.keyboard.press('Enter');
      await page.locator('.menu:popover-open').getByRole('button', { name: 'Delete' }).focus();
      await page.keyboard.press('Enter');
      await dialog().getByRole('button', { name: 'Delete' }).focus();
      await page.keyboard.press('Enter');
      await expect.poll(readFocus).toBe(next);
    }
  });

  it('goes to the page that a link leads to, and to the button beside one that is gone', async () => {
    await go('accounts');
    await page.getByRole('link', { name: 'focused' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'focused' }).waitFor();
    await expect.poll(readFocus).toBe('page');
    await go('providers');
    await button('Pause').click();
    await dialog().getByRole('button', { name: 'Pause' }).click();
    await button('Put back').focus();
    await page.keyboard.press('Enter');
    await button('Put back').waitFor({ state: 'detached' });
    await expect.poll(readFocus).toBe('Test openai');
  });

  it('stays on the button of a form that was refused', async () => {
    await go('accounts/tester');
    const refusal = { error: { message: 'The ledger is away.', param: null } };
    await page.route('**/state', (route) => route.fulfill({ status: 503, json: refusal }));
    await chooseOfPage('Disable / close');
    await dialog().getByRole('button', { name: 'Change' }).focus();
    await page.keyboard.press('Enter');
    await dialog().getByRole('alert').getByText('The ledger is away.').waitFor();
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Change');
    await page.keyboard.press('Escape');
  });

  it('goes to the field to sign in with when the session ends', async () => {
    await button('Sign out').focus();
    await page.keyboard.press('Enter');
    await page.getByLabel('Operator secret or key').waitFor();
    await expect.poll(() => page.evaluate('document.activeElement.name')).toBe('secret');
  });

  it('throws nothing in the browser', () => {
    expect(watched.complaints).toEqual([]);
  });
});
