/** The terms of accounts in the console: an allowance and keys in one dialog, and later changes. */
import { describe, expect, it } from 'vitest';
import { postJson } from '../support/post.ts';
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
  submit,
} from './pages.ts';

/** Counts the clicks on the page from now on. */
async function countClicks(): Promise<() => Promise<unknown>> {
  await page.evaluate(
    'clicks = 0; addEventListener("click", ({ isTrusted }) => { clicks += Number(isTrusted); }, true)',
  );
  return () => page.evaluate('clicks');
}

const tile = (name: string) => page.locator('.tile', { hasText: name });

describe.runIf(hasBrowser)('the terms of accounts in the console', () => {
  openPages();

  it('make a team with an allowance and three keys, which are copied, in at most 9 clicks', async () => {
    await go('calls');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    const readClicks = await countClicks();
    await page.getByRole('link', { name: 'Accounts and keys' }).click();
    await button('New account').click();
    await submit('Create account', { Name: 'design', 'Allowance in USD': '100', Keys: 'ada, bob, eve' });
    await dialog().getByText('they will not be shown again').waitFor();
    const secrets: string[] = [];
    for (const copy of await dialog().getByRole('button', { name: 'Copy secret' }).all()) {
      await copy.click();
      await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).not.toBe(secrets.at(-1) ?? '');
      secrets.push(String(await page.evaluate('navigator.clipboard.readText()')));
    }
    await dialog().getByRole('link', { name: 'Done: open design' }).click();
    expect(await readClicks()).toBeLessThanOrEqual(9);
    expect(new Set(secrets.filter((each) => /^sk-\w{42}$/.test(each))).size).toBe(3);
    for (const secret of secrets) {
      const reply = await postJson(
        `${open.harness.gateway.url}/v1/chat/completions`,
        { model: 'demo/echo', messages: [{ role: 'user', content: 'Hello!' }] },
        { authorization: `Bearer ${secret}` },
      );
      expect(reply.status).toBe(200);
    }
    await page.getByRole('heading', { name: 'design' }).waitFor();
    await tile('Available').getByText('$100.00 each month').waitFor();
    await expect.poll(() => rows('Keys').count()).toBe(3);
    expect(await page.content()).not.toContain(secrets[0]);
  });

  it('change: the dialog shows what is agreed, and a refusal beside its field', async () => {
    await go('accounts/design');
    await chooseOfPage('Terms');
    expect(await dialog().getByLabel('Allowance in USD').inputValue()).toBe('100');
    await submit('Save', { 'Pays later': true });
    await dialog().locator('.field.checkbox .fault').getByText('no budget that refuses calls').waitFor();
    await submit('Save', {
      'Pays later': false,
      'Allowance in USD': '250',
      'What is left of it': 'is taken back before the next one',
      'Time zone': 'Mars',
    });
    await dialog().getByText('a time zone is named as in Europe/Berlin').waitFor();
    await submit('Save', { 'Time zone': 'Europe/Berlin' });
    await tile('Available').getByText('$250.00 each month (what is left is taken back)').waitFor();
    await chooseOfPage('Terms');
    await submit('Save', { 'Allowance in USD': '' });
    await tile('Available').getByText('for new calls').waitFor();
  });

  it('let an account with a budget pay later, whose statement says what to invoice', async () => {
    await go('accounts/design');
    await chooseOfPage('New budget');
    await submit('Create budget', { 'Limit in USD': '300' });
    await rows('Budgets').getByText('$300.00').first().waitFor();
    await chooseOfPage('Terms');
    await submit('Save', { 'Pays later': true });
    await tile('Available').getByText('pays later').waitFor();
    await go('accounts');
    await rows('Accounts').filter({ hasText: 'design' }).getByText('pays later').waitFor();
    await go('accounts/design?show=statement');
    await tile('Closing balance').getByText('to invoice: $0.00').waitFor();
    await page.getByText('allowance: for the month from').waitFor();
  });
});
