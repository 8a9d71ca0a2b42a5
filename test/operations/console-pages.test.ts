/** The console in a browser, as an operator uses it: its pages, buttons and keys. */
import { readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { available } from '../support/available.ts';
import { isBrowserPresent, launchBrowser, missingBrowser } from '../support/browser.ts';
import {
  findBarriers,
  openConsole,
  openPage,
  showPlace,
  signInOn,
  type ConsoleHouse,
  type WatchedPage,
} from '../support/operated-console.ts';

const hasBrowser = available(isBrowserPresent, missingBrowser);

describe.runIf(hasBrowser)('the console in a browser', () => {
  let open: ConsoleHouse;
  let browser: Browser;
  let watched: WatchedPage;
  let page: Page;

  beforeAll(async () => {
    open = await openConsole();
    browser = await launchBrowser();
    watched = await openPage(browser, { colorScheme: 'dark' });
    page = watched.page;
    await signInOn(page, open);
  });
  afterAll(async () => {
    await browser.close();
    await open.close();
  });

  const go = (path: string): Promise<void> => showPlace(page, path);
  const dialog = () => page.locator('dialog[open]');
  const button = (name: string | RegExp) => page.getByRole('button', { name }).first();
  /** Opens the menu of the first row that has one, and chooses. */
  const choose = async (name: string): Promise<void> => {
    await button(/^Actions for/).click();
    await page.locator('.menu:popover-open').getByRole('button', { name }).click();
  };
  const rows = (name: string) => page.getByRole('region', { name, exact: true }).locator('tbody tr');
  const download = async (name: string | RegExp): Promise<string> => {
    const [file] = await Promise.all([page.waitForEvent('download'), page.getByText(name).first().click()]);
    return readFileSync(await file.path(), 'utf8');
  };

  it('needs at most 150 kB for the first page, all of it compressed', async () => {
    const { page: first } = await openPage(browser);
    const sizes = new Map<string, number>();
    first.on('requestfinished', (request) => {
      void request.sizes().then(({ responseBodySize: body, responseHeadersSize: head }) => {
        sizes.set(request.url(), body + head);
      });
    });
    await signInOn(first, open);
    await first.locator('main h1').waitFor();
    await first.waitForLoadState('networkidle');
    const bytes = [...sizes.values()].reduce((total, size) => total + size, 0);
    expect(sizes.size).toBeGreaterThan(10);
    expect(bytes).toBeGreaterThan(10_000);
    expect(bytes).toBeLessThanOrEqual(150_000);
    await first.close();
  });

  it('keeps its files in the browser until the gateway changes', async () => {
    const html = await (await fetch(open.door)).text();
    const [, file = ''] = /<script type="module" src="([^"]+)"/.exec(html) ?? [];
    for (const encoding of ['br', 'gzip', 'identity']) {
      const { status, headers } = await fetch(open.door + file, { headers: { 'accept-encoding': encoding } });
      expect([status, headers.get('content-encoding')]).toEqual([
        200,
        encoding === 'identity' ? null : encoding,
      ]);
      expect(headers.get('cache-control')).toContain('immutable');
    }
    const tag = (await fetch(open.door)).headers.get('etag') ?? '';
    expect((await fetch(open.door, { headers: { 'if-none-match': tag } })).status).toBe(304);
    expect((await fetch(`${open.door}/console/0123456789ab/main.ts`)).status).toBe(404);
    expect((await fetch(`${open.door}${file}/../../package.json`)).status).toBe(404);
  });

  it('refuses a wrong secret in plain words, and signs out', async () => {
    const { page: other } = await openPage(browser);
    await other.goto(open.door);
    await other.getByLabel('Operator secret or key').fill('wrong');
    await other.getByRole('button', { name: 'Sign in' }).click();
    await other.getByText('This is neither the operator secret nor an operator key.').waitFor();
    await signInOn(other, open);
    await other.getByRole('button', { name: 'Sign out' }).click();
    await other.getByLabel('Operator secret or key').waitFor();
    await other.reload();
    await other.getByLabel('Operator secret or key').waitFor();
    await other.close();
  });

  it('creates an account with credit, and shows exact amounts', async () => {
    await go('accounts');
    await button('New account').click();
    await dialog().getByLabel('Name').fill('acme');
    await dialog().getByLabel('Credit to add in USD').fill('12.123456789');
    await dialog().getByRole('button', { name: 'Create account' }).click();
    await page.getByRole('heading', { name: 'acme' }).waitFor();
    const available = () => page.locator('.tile', { hasText: 'Available' }).locator('strong').textContent();
    await expect.poll(available).toBe('$12.123456789');
    await button('Add credit').click();
    await dialog().getByLabel('Amount in USD').fill('-1');
    await dialog().getByRole('button', { name: 'Add credit' }).click();
    await dialog().getByText('the amount has to be above 0').waitFor();
    await dialog().getByLabel('Amount in USD').fill('0.000000001');
    await dialog().getByLabel('Kind').selectOption('bonus');
    await dialog().getByRole('button', { name: 'Add credit' }).click();
    await expect.poll(available).toBe('$12.12345679');
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
      expect(text).toContain(open.house.gateway.url);
      // Of the models that the key may call, one that is on offer.
      if (client !== 'Open WebUI') expect(text).toContain('openai/');
    }
    const reply = await fetch(`${open.house.gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'openai/gpt-4o-mini', messages: [{ role: 'user', content: 'Hello!' }] }),
    });
    expect(reply.status).toBe(200);
    await dialog().getByRole('button', { name: 'Close' }).click();
    await expect.poll(() => rows('Keys').first().textContent()).toContain('$3.50');
    expect(await rows('Keys').first().textContent()).toContain('team:search research');
    expect(await page.content()).not.toContain(secret);
    await page.reload();
    await rows('Keys').first().waitFor();
    expect(await page.content()).not.toContain(secret);
    expect(open.house.gateway.log.join('')).not.toContain(secret);
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
    await dialog().getByLabel('The old secret works for another').selectOption('3600');
    await dialog().getByRole('button', { name: 'Rotate' }).click();
    await dialog().getByText('This is the only time it is shown.').waitFor();
    await dialog().getByRole('button', { name: 'Close' }).click();
    await expect.poll(() => rows('Keys').count()).toBe(2);
    const texts = await rows('Keys').allTextContents();
    expect(texts.filter((text) => text.includes('replaced'))).toHaveLength(1);
  });

  it('shows the state of an account, on its page and in the list', async () => {
    await go('accounts/acme');
    await button('Set state').click();
    await dialog().getByLabel('State').selectOption('disabled');
    await dialog().getByRole('button', { name: 'Change' }).click();
    await page.locator('h1', { hasText: 'disabled' }).waitFor();
    await button('Set state').click();
    expect(await dialog().getByLabel('State').inputValue()).toBe('disabled');
    await page.keyboard.press('Escape');
    await go('accounts');
    await rows('Accounts').filter({ hasText: 'acme' }).getByText('disabled').waitFor();
    await go('accounts/acme');
    await button('Set state').click();
    await dialog().getByLabel('State').selectOption('open');
    await dialog().getByRole('button', { name: 'Change' }).click();
    await page.locator('h1 .badge').waitFor({ state: 'detached' });
  });

  it('lists all keys and operator keys, and makes one of those', async () => {
    await go('accounts');
    await button('Keys').click();
    await expect.poll(() => rows('Keys').count()).toBe(3);
    await button('Operator keys').click();
    await page.getByText('There is no key yet.').waitFor();
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
    const { page: other } = await openPage(browser);
    await signInOn(other, { ...open, secret: reader });
    await other.getByText('This key may only read.').waitFor();
    await other.goto(`${open.door}/#/accounts/acme`);
    await other.getByRole('region', { name: 'Keys', exact: true }).locator('tbody tr').first().waitFor();
    expect(await other.getByRole('button', { name: /New key|Actions|Add credit/ }).count()).toBe(0);
    await other.close();
  });

  it('creates, changes, raises and deletes a budget', async () => {
    await go('accounts/acme');
    await button('Budgets').click();
    await page.getByText('There is no budget.').waitFor();
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
    await page.getByText('There is no budget.').waitFor();
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
    await (await open.house.post({ model: 'openai/gpt-4o-mini', messages })).text();
    await go('accounts/tester?show=budgets');
    await expect.poll(() => rows('Budgets').first().textContent()).toContain('100 % reached');
    await choose('Delete');
    await dialog().getByRole('button', { name: 'Delete' }).click();
    await page.getByText('There is no budget.').waitFor();
  });

  it('sorts, filters, copies and exports tables', async () => {
    await go('models');
    const first = () => rows('Models').first().locator('td').first().textContent();
    await rows('Models').first().waitFor();
    const all = await rows('Models').count();
    await page.getByRole('button', { name: 'Model', exact: true }).click();
    const ascending = await first();
    await page.getByRole('button', { name: /^Model/ }).click();
    await expect.poll(first).not.toBe(ascending);
    await page.keyboard.press('Escape');
    await page.locator('h1').click();
    await page.keyboard.press('/');
    await page.keyboard.type('demo/');
    await expect.poll(() => rows('Models').count()).toBeLessThan(all);
    const csv = await download('CSV');
    expect(csv.split('\r\n')[0]).toContain('Model,Providers,Input');
    expect(csv).toContain('demo/echo');
    expect(csv).not.toContain('openai/');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await button('Copy').click();
    await page.getByText('Table copied').waitFor();
    const copied: unknown = await page.evaluate('navigator.clipboard.readText()');
    expect(copied).toContain('Model\tProviders\tInput');
  });

  it('shows all facts of a model, with the date and source of its price', async () => {
    await go('models?search=gpt-4o-mini');
    await page.getByRole('button', { name: 'openai/gpt-4o-mini', exact: true }).click();
    const text = (await dialog().textContent()) ?? '';
    expect(text).toMatch(/Price checked.*20\d\d-\d\d-\d\d/);
    expect(text).toContain('Providers, in the order they are asked');
    expect(text).toContain('Example: 1,000 tokens in, 500 out');
    await page.keyboard.press('Escape');
    await expect.poll(() => dialog().count()).toBe(0);
  });

  it('navigates everywhere by keyboard', async () => {
    await go('accounts');
    await page.keyboard.press('Control+k');
    await page.keyboard.type('models');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Models' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('acme');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'acme' }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Models' }).waitFor();
  });

  it('keeps the chosen theme', async () => {
    const background = (): Promise<unknown> =>
      page.evaluate('getComputedStyle(document.documentElement).backgroundColor');
    const dark = await background();
    await button(/^Theme/).click();
    await expect.poll(background).not.toBe(dark);
    await page.reload();
    await expect.poll(background).not.toBe(dark);
    await button('Theme: light').click();
    await expect.poll(background).toBe(dark);
    await button('Theme: dark').click();
  });

  it('says so when a page or an account does not exist, and stops loading', async () => {
    await page.goto(`${open.door}/#/nowhere`);
    await page.getByText('There is no such page.').waitFor();
    await go('accounts/nobody');
    await page.getByText('there is no account "nobody"').waitFor();
  });

  it('has an accessible command palette', async () => {
    await go('');
    await button(/^Go to/).click();
    expect(await findBarriers(page)).toEqual([]);
    await page.keyboard.press('Escape');
  });

  it('shows 20 kB of hostile text in every field as text, or refuses it, and runs none of it', async () => {
    const hostile =
      '<img src=x onerror="globalThis.hacked=1"><script>globalThis.hacked=1</script>&amp;\u202e${1}'.repeat(
        240,
      );
    expect(hostile.length).toBeGreaterThan(20_000);
    await go('accounts');
    for (const [name, submit] of [
      ['New account', 'Create account'],
      ['New key', 'Create key'],
    ] as const) {
      await button(name).click();
      const inputs = dialog().locator('input:not([type=number]):not([type=datetime-local])');
      for (let index = 0; index < (await inputs.count()); index += 1) await inputs.nth(index).fill(hostile);
      await dialog().getByRole('button', { name: submit }).click();
      await dialog().locator('.fault:not(:empty)').first().waitFor();
      await dialog().getByRole('button', { name: 'Close' }).click();
    }
    await go('accounts/acme');
    await button('New key').click();
    const short = hostile.slice(0, 180);
    await dialog().getByLabel('Name').fill(short);
    await dialog().getByRole('button', { name: 'Create key' }).click();
    await dialog().getByRole('button', { name: 'Close' }).click();
    await expect
      .poll(() =>
        rows('Keys')
          .allTextContents()
          .then((texts) => texts.join()),
      )
      .toContain(short);
    for (const path of [
      `models?search=${encodeURIComponent(hostile.slice(0, 2000))}`,
      `accounts/${encodeURIComponent(short)}`,
      `calls/${encodeURIComponent(short)}`,
    ])
      await go(path);
    await go('accounts/acme');
    await page.getByRole('searchbox').fill(hostile);
    await page.keyboard.press('Control+k');
    await page.keyboard.insertText(hostile);
    await page.keyboard.press('Escape');
    expect(await page.evaluate('globalThis.hacked')).toBeUndefined();
    expect(await page.locator('img').count()).toBe(0);
  });

  it('violates no rule of its own content security policy, and contacts no other host', () => {
    expect(watched.complaints).toEqual([]);
    expect([...watched.origins]).toEqual([open.door]);
  });
});
