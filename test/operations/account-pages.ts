/** Accounts, their keys and budgets, on the pages of the console: part of `console-pages.test.ts`. */
import { expect, it } from 'vitest';
import { z } from 'zod';
import { openPage, signInOn } from '../support/operated-console.ts';
import { postJson } from '../support/post.ts';
import { button, choose, chooseOfPage, dialog, go, open, page, rows, submit } from './pages.ts';

export function testAccountPages(): void {
  it('creates an account with credit, and shows exact amounts', async () => {
    await go('accounts');
    await button('New account').click();
    await submit('Create account', { Name: 'acme', 'Credit to add in USD': '12.123456789' });
    await page.getByRole('heading', { name: 'acme' }).waitFor();
    const readAvailable = () =>
      page.locator('.tile', { hasText: 'Available' }).locator('strong').textContent();
    await expect.poll(readAvailable).toBe('$12.123456789');
    await button('Add credit').click();
    await submit('Add credit', { 'Amount in USD': '-1' });
    await dialog().getByText('the amount has to be above 0').waitFor();
    await submit('Add credit', { 'Amount in USD': '0.000000001', Kind: 'bonus' });
    await expect.poll(readAvailable).toBe('$12.12345679');
  });

  it('creates no account if its credit is refused, and says why in plain words', async () => {
    await go('accounts');
    await button('New account').click();
    await submit('Create account', { Name: 'typed', 'Credit to add in USD': '1,5' });
    const fault = dialog().locator('.field .fault');
    await fault.waitFor();
    expect(await fault.textContent()).toMatch(/^not an amount in USD/);
    await expect.poll(() => page.evaluate('document.activeElement.name')).toBe('credit');
    await submit('Create account', { 'Credit to add in USD': '1.5' });
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
      await submit('Create key');
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
      await submit('Add credit', { 'Amount in USD': '2', Reference: 'invoice-7' });
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
    await submit('Create key', {
      Name: 'laptop',
      Models: 'openai/*, demo/*',
      'Spend cap in USD': '3.5',
      Tags: 'team:search, research',
    });
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
    await submit('Close');
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
    await submit('Save', {
      Tags: 'night',
      'Calls per minute': '7',
      'Spend cap in USD': '',
      Networks: '10.1.2.3/8, 192.0.2.7',
      Protocols: 'messages',
    });
    await expect.poll(() => rows('Keys').first().textContent()).not.toContain('$3.50');
    await expect.poll(() => rows('Keys').first().textContent()).toContain('night');
    await choose('Change');
    expect(await dialog().getByLabel('Networks').inputValue()).toBe('10.0.0.0/8, 192.0.2.7/32');
    expect(await dialog().getByLabel('Protocols').inputValue()).toBe('messages');
    await submit('Save', { Networks: '', Operations: 'chat' });
    await dialog().getByText('the operations are generate, edit, count, compact, models, stored').waitFor();
    await submit('Save', { Operations: 'count' });
    await choose('Disable');
    await submit('Disable');
    await expect.poll(() => rows('Keys').first().textContent()).toContain('disabled');
    await choose('Enable');
    await expect.poll(() => rows('Keys').first().textContent()).toContain('active');
    await choose('Rotate');
    const old = dialog().getByLabel('The old secret');
    expect(await old.locator('option:checked').textContent()).toBe('Leaked: stop the old one now');
    await old.selectOption('Planned: keep it for an hour');
    await submit('Rotate');
    await dialog().getByText('it will not be shown again').waitFor();
    await submit('Close');
    await expect.poll(() => rows('Keys').count()).toBe(2);
    const texts = await rows('Keys').allTextContents();
    expect(texts.filter((text) => text.includes('replaced'))).toHaveLength(1);
  });

  it('shows the state of an account, on its page and in the list', async () => {
    await go('accounts/acme');
    await chooseOfPage('Disable / close');
    await submit('Change', { State: 'disabled' });
    await page.locator('h1', { hasText: 'disabled' }).waitFor();
    await chooseOfPage('Change state');
    expect(await dialog().getByLabel('State').inputValue()).toBe('disabled');
    await page.keyboard.press('Escape');
    await go('accounts');
    await rows('Accounts').filter({ hasText: 'acme' }).getByText('disabled').waitFor();
    await go('accounts/acme');
    await chooseOfPage('Change state');
    await submit('Change', { State: 'open' });
    await page.locator('h1 .badge').waitFor({ state: 'detached' });
  });

  it('lists all keys and operator keys, and makes one of those', async () => {
    await go('accounts');
    await button('Keys').click();
    await expect.poll(() => rows('Keys').count()).toBe(4);
    await button('Operator keys').click();
    await page.getByText('No operator keys yet.').waitFor();
    await button('New operator key').click();
    await submit('Create key', { Name: 'deputy' });
    const secret = (await dialog().locator('pre').first().textContent()) ?? '';
    expect(secret).toMatch(/^gw-\w{42}$/);
    expect(await open.signIn(secret)).toContain('tollgate-console-');
    await submit('Close');
    await button('New operator key').click();
    await submit('Create key', { Name: 'auditor', 'May only read': true });
    const reader = (await dialog().locator('pre').first().textContent()) ?? '';
    await submit('Close');
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
    await chooseOfPage('New budget');
    await submit('Create budget', { 'For each': 'day', 'Limit in USD': '2.5' });
    await expect.poll(() => rows('Budgets').first().textContent()).toContain('$2.50');
    await choose('Change');
    await submit('Save', { 'Limit in USD': '3', 'Refuse calls beyond it': false });
    await expect.poll(() => rows('Budgets').first().textContent()).toContain('only warns');
    await choose('Change');
    await submit('Raise', { 'More in USD': '1', Until: '2099-01-01T00:00:00' });
    await expect.poll(() => rows('Budgets').first().textContent()).toContain('$4.00');
    await go('accounts');
    await button('Budgets').click();
    await expect.poll(() => rows('Budgets').count()).toBe(1);
    await choose('Delete');
    await submit('Delete');
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
    await submit('Create budget', { Whose: 'key', Name: id, 'Limit in USD': '2' });
    await rows('Budgets').getByText(`key scheduler each month`).waitFor();
    await choose('Delete');
    await dialog().getByText('Delete the budget: key scheduler each month?').waitFor();
    await submit('Delete');
    await page.getByText('No budgets yet.').waitFor();
    await go(`calls/${reply.headers.get('x-request-id')}`);
    await page.getByRole('link', { name: 'scheduler', exact: true }).click();
    await expect.poll(() => rows('Calls').count()).toBe(1);
  });

  it('warns of a budget that is used up', async () => {
    await go('accounts/tester');
    await chooseOfPage('New budget');
    await submit('Create budget', { 'Limit in USD': '0.00000001', 'Refuse calls beyond it': false });
    await expect.poll(() => rows('Budgets').first().textContent()).toMatch(/only warns.*0 %/s);
    expect(await rows('Budgets').first().textContent()).not.toContain('reached');
    const messages = [{ role: 'user', content: 'Hello!' }];
    await (await open.harness.post({ model: 'openai/gpt-4o-mini', messages })).text();
    await go('accounts/tester');
    await expect.poll(() => rows('Budgets').first().textContent()).toContain('100 % reached');
    await choose('Delete');
    await submit('Delete');
    await expect.poll(() => rows('Budgets').count()).toBe(0);
  });
}
