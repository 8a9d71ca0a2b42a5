/** Accounts, their keys and budgets, on the pages of the console: part of `console-pages.test.ts`. */
import { expect, it } from 'vitest';
import { z } from 'zod';
import { openPage, signInOn } from '../support/operated-console.ts';
import { postJson } from '../support/post.ts';
import { button, choose, dialog, go, open, page, rows } from './pages.ts';

export function testAccountPages(): void {
  it('creates an account with credit, and shows exact amounts', async () => {
    await go('accounts');
    await button('New account').click();
    await dialog().getByLabel('Name').fill('acme');
    await dialog().getByLabel('Credit to add in USD').fill('12.123456789');
    await dialog().getByRole('button', { name: 'Create account' }).click();
    await page.getByRole('heading', { name: 'acme' }).waitFor();
    const readAvailable = () =>
      page.locator('.tile', { hasText: 'Available' }).locator('strong').textContent();
    await expect.poll(readAvailable).toBe('$12.123456789');
    await button('Add credit').click();
    await dialog().getByLabel('Amount in USD').fill('-1');
    await dialog().getByRole('button', { name: 'Add credit' }).click();
    await dialog().getByText('the amount has to be above 0').waitFor();
    await dialog().getByLabel('Amount in USD').fill('0.000000001');
    await dialog().getByLabel('Kind').selectOption('bonus');
    await dialog().getByRole('button', { name: 'Add credit' }).click();
    await expect.poll(readAvailable).toBe('$12.12345679');
  });

  it('creates an account once if its credit is refused, and says why in plain words', async () => {
    await go('accounts');
    await button('New account').click();
    await dialog().getByLabel('Name').fill('typed');
    await dialog().getByLabel('Credit to add in USD').fill('1,5');
    await dialog().getByRole('button', { name: 'Create account' }).click();
    const fault = dialog().locator('.field .fault');
    await fault.waitFor();
    expect(await fault.textContent()).toMatch(/^not an amount in USD/);
    await expect.poll(() => page.evaluate('document.activeElement.name')).toBe('amount');
    await dialog().getByLabel('Credit to add in USD').fill('1.5');
    await dialog().getByRole('button', { name: 'Create account' }).click();
    await page.getByRole('heading', { name: 'typed' }).waitFor();
  });

  it('shows the fault of a word of a list beside its field', async () => {
    await go('accounts/typed');
    await button('New key').click();
    for (const [label, text, message] of [
      ['Models', 'demo/echo, nope', 'a model is named <owner>/<name>'],
      ['Tags', 'fine, no!', 'a tag has 1 to 128 letters'],
      ['Name', 'x'.repeat(201), 'a name has at most 200 characters'],
    ] as const) {
      await dialog().getByLabel(label).fill(text);
      await dialog().getByRole('button', { name: 'Create key' }).click();
      const field = dialog().locator('.field', { has: page.getByLabel(label) });
      await field.getByText(message).waitFor();
      await dialog().getByLabel(label).fill('');
    }
    await page.keyboard.press('Escape');
  });

  it('says that a reference was credited before', async () => {
    for (let time = 0; time < 2; time += 1) {
      await go('accounts/typed');
      await button('Add credit').click();
      await dialog().getByLabel('Amount in USD').fill('2');
      await dialog().getByLabel('Reference').fill('invoice-7');
      await dialog().getByRole('button', { name: 'Add credit' }).click();
      await dialog().waitFor({ state: 'detached' });
    }
    await page.getByText('Nothing was added: this reference was credited before').waitFor();
    await page.locator('.tile', { hasText: 'Available' }).getByText('$3.50').waitFor();
  });

  it('makes a key by the keyboard alone, with its new account in the list behind it', async () => {
    await go('accounts');
    await button('New key').focus();
    await page.keyboard.press('Enter');
    await page.keyboard.type('typist');
    await page.keyboard.press('Enter');
    await dialog().getByText('it will not be shown again').waitFor();
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.keyboard.press('Enter');
    await page.getByText('Copied').waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toMatch(/^sk-/);
    await page.keyboard.press('Escape');
    await rows('Accounts').filter({ hasText: 'typist' }).waitFor();
    expect(await page.evaluate('document.activeElement.textContent')).toBe('New key');
  });

  it('shows the first view for a link that names none of them', async () => {
    await go('accounts?show=nonsense');
    await rows('Accounts').first().waitFor();
  });

  it('creates a key, shows its secret once with settings, and the key works', async () => {
    await go('accounts/acme');
    await button('New key').click();
    await dialog().getByLabel('Name').fill('laptop');
    await dialog().getByLabel('Models').fill('openai/*, demo/*');
    await dialog().getByLabel('Spend cap in USD').fill('3.5');
    await dialog().getByLabel('Tags').fill('team:search, research');
    await dialog().getByRole('button', { name: 'Create key' }).click();
    const secret = (await dialog().locator('pre').first().textContent()) ?? '';
    expect(secret).toMatch(/^sk-\w{42}$/);
    for (const client of ['curl', 'Claude Code', 'opencode', 'Open WebUI', 'OpenAI SDK', 'Anthropic SDK']) {
      await dialog().getByRole('button', { name: client, exact: true }).click();
      const text = (await dialog().locator('.settings pre').textContent()) ?? '';
      expect(text).toContain(secret);
      expect(text).toContain(open.harness.gateway.url);
      // Of the models that the key may call, one that is on offer.
      if (client !== 'Open WebUI') expect(text).toContain('openai/');
    }
    const reply = await postJson(
      `${open.harness.gateway.url}/v1/chat/completions`,
      { model: 'openai/gpt-4o-mini', messages: [{ role: 'user', content: 'Hello!' }] },
      { authorization: `Bearer ${secret}` },
    );
    expect(reply.status).toBe(200);
    await dialog().getByRole('button', { name: 'Close' }).click();
    await expect.poll(() => rows('Keys').first().textContent()).toContain('$3.50');
    expect(await rows('Keys').first().textContent()).toContain('team:search research');
    expect(await page.content()).not.toContain(secret);
    await page.reload();
    await rows('Keys').first().waitFor();
    expect(await page.content()).not.toContain(secret);
    expect(open.harness.gateway.log.join('')).not.toContain(secret);
  });

  it('changes, rotates, disables and enables a key', async () => {
    await go('accounts/acme');
    await choose('Change');
    expect(await dialog().getByLabel('Tags').inputValue()).toBe('team:search, research');
    await dialog().getByLabel('Tags').fill('night');
    await dialog().getByLabel('Calls per minute').fill('7');
    await dialog().getByLabel('Spend cap in USD').fill('');
    await dialog().getByRole('button', { name: 'Save' }).click();
    await expect.poll(() => rows('Keys').first().textContent()).not.toContain('$3.50');
    await expect.poll(() => rows('Keys').first().textContent()).toContain('night');
    await choose('Disable');
    await dialog().getByRole('button', { name: 'Disable' }).click();
    await expect.poll(() => rows('Keys').first().textContent()).toContain('disabled');
    await choose('Enable');
    await expect.poll(() => rows('Keys').first().textContent()).toContain('active');
    await choose('Rotate');
    const old = dialog().getByLabel('The old secret');
    expect(await old.locator('option:checked').textContent()).toBe('Leaked: stop the old one now');
    await old.selectOption('Planned: keep it for an hour');
    await dialog().getByRole('button', { name: 'Rotate' }).click();
    await dialog().getByText('it will not be shown again').waitFor();
    await dialog().getByRole('button', { name: 'Close' }).click();
    await expect.poll(() => rows('Keys').count()).toBe(2);
    const texts = await rows('Keys').allTextContents();
    expect(texts.filter((text) => text.includes('replaced'))).toHaveLength(1);
  });

  it('shows the state of an account, on its page and in the list', async () => {
    await go('accounts/acme');
    await button('Disable / close').click();
    await dialog().getByLabel('State').selectOption('disabled');
    await dialog().getByRole('button', { name: 'Change' }).click();
    await page.locator('h1', { hasText: 'disabled' }).waitFor();
    await button('Change state').click();
    expect(await dialog().getByLabel('State').inputValue()).toBe('disabled');
    await page.keyboard.press('Escape');
    await go('accounts');
    await rows('Accounts').filter({ hasText: 'acme' }).getByText('disabled').waitFor();
    await go('accounts/acme');
    await button('Change state').click();
    await dialog().getByLabel('State').selectOption('open');
    await dialog().getByRole('button', { name: 'Change' }).click();
    await page.locator('h1 .badge').waitFor({ state: 'detached' });
  });

  it('lists all keys and operator keys, and makes one of those', async () => {
    await go('accounts');
    await button('Keys').click();
    await expect.poll(() => rows('Keys').count()).toBe(4);
    await button('Operator keys').click();
    await page.getByText('No operator keys yet.').waitFor();
    await button('New operator key').click();
    await dialog().getByLabel('Name').fill('deputy');
    await dialog().getByRole('button', { name: 'Create key' }).click();
    const secret = (await dialog().locator('pre').first().textContent()) ?? '';
    expect(secret).toMatch(/^gw-\w{42}$/);
    expect(await open.signIn(secret)).toContain('tollgate-console-');
    await dialog().getByRole('button', { name: 'Close' }).click();
    await button('New operator key').click();
    await dialog().getByLabel('Name').fill('auditor');
    await dialog().getByLabel('May only read').check();
    await dialog().getByRole('button', { name: 'Create key' }).click();
    const reader = (await dialog().locator('pre').first().textContent()) ?? '';
    await dialog().getByRole('button', { name: 'Close' }).click();
    await rows('Operator keys').filter({ hasText: 'auditor' }).getByText('active read only').waitFor();
    const { page: other } = await openPage();
    await signInOn(other, { ...open, secret: reader });
    await other.getByText('This key is read-only.').waitFor();
    await other.goto(`${open.adminUrl}/#/accounts/acme`);
    await other.getByRole('region', { name: 'Keys', exact: true }).locator('tbody tr').first().waitFor();
    expect(await other.getByRole('button', { name: /New key|Actions|Add credit/ }).count()).toBe(0);
    await other.close();
  });

  it('creates, changes, raises and deletes a budget', async () => {
    await go('accounts/acme');
    await button('Budgets').click();
    await page.getByText('No budgets yet.').waitFor();
    await button('New budget').click();
    await dialog().getByLabel('For each').selectOption('day');
    await dialog().getByLabel('Limit in USD').fill('2.5');
    await dialog().getByRole('button', { name: 'Create budget' }).click();
    await expect.poll(() => rows('Budgets').first().textContent()).toContain('$2.50');
    await choose('Change');
    await dialog().getByLabel('Limit in USD').fill('3');
    await dialog().getByLabel('Refuse calls beyond it').uncheck();
    await dialog().getByRole('button', { name: 'Save' }).click();
    await expect.poll(() => rows('Budgets').first().textContent()).toContain('only warns');
    await choose('Change');
    await dialog().getByLabel('More in USD').fill('1');
    await dialog().getByLabel('Until').fill('2099-01-01T00:00:00');
    await dialog().getByRole('button', { name: 'Raise' }).click();
    await expect.poll(() => rows('Budgets').first().textContent()).toContain('$4.00');
    await go('accounts');
    await button('Budgets').click();
    await expect.poll(() => rows('Budgets').count()).toBe(1);
    await choose('Delete');
    await dialog().getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No budgets yet.').waitFor();
  });

  it('calls a budget of a key, and the key of a call, by the name of the key', async () => {
    const { adminUrl, secret, harness } = open;
    const made = await postJson(
      `${adminUrl}/admin/keys`,
      { account: 'acme', name: 'scheduler', credit: '1' },
      { authorization: `Bearer ${secret}` },
    );
    const { id, key } = z.object({ id: z.string(), key: z.string() }).parse(await made.json());
    const messages = [{ role: 'user', content: 'Hello!' }];
    const reply = await postJson(
      `${harness.gateway.url}/v1/chat/completions`,
      { model: 'openai/gpt-4o-mini', messages },
      { authorization: `Bearer ${key}` },
    );
    await go('accounts?show=budgets');
    await button('New budget').click();
    await dialog().getByLabel('Whose').selectOption('key');
    await dialog().getByLabel('Name', { exact: true }).fill(id);
    await dialog().getByLabel('Limit in USD').fill('2');
    await dialog().getByRole('button', { name: 'Create budget' }).click();
    await rows('Budgets').getByText(`key scheduler each month`).waitFor();
    await choose('Delete');
    await dialog().getByText('Delete the budget: key scheduler each month?').waitFor();
    await dialog().getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No budgets yet.').waitFor();
    await go(`calls/${reply.headers.get('x-request-id')}`);
    await page.getByRole('link', { name: 'scheduler', exact: true }).click();
    await expect.poll(() => rows('Calls').count()).toBe(1);
  });

  it('warns of a budget that is used up', async () => {
    await go('accounts/tester?show=budgets');
    await button('New budget').click();
    await dialog().getByLabel('Limit in USD').fill('0.00000001');
    await dialog().getByLabel('Refuse calls beyond it').uncheck();
    await dialog().getByRole('button', { name: 'Create budget' }).click();
    await expect.poll(() => rows('Budgets').first().textContent()).toMatch(/only warns.*0 %/s);
    expect(await rows('Budgets').first().textContent()).not.toContain('reached');
    const messages = [{ role: 'user', content: 'Hello!' }];
    await (await open.harness.post({ model: 'openai/gpt-4o-mini', messages })).text();
    await go('accounts/tester?show=budgets');
    await expect.poll(() => rows('Budgets').first().textContent()).toContain('100 % reached');
    await choose('Delete');
    await dialog().getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No budgets yet.').waitFor();
  });
}
