/** The console in a browser, as an operator uses it: its pages, buttons and keys. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { checkAvailable } from '../support/available.ts';
import { isBrowserPresent, missingBrowser } from '../support/browser.ts';
import { signInOn, findBarriers } from '../support/operated-console.ts';
import { testAccountPages } from './account-pages.ts';
import { button, dialog, download, go, hostile, open, openPages, page, rows, watched } from './pages.ts';

const hasBrowser = checkAvailable(isBrowserPresent, missingBrowser);

describe.runIf(hasBrowser)('the console in a browser', () => {
  openPages([], { colorScheme: 'dark' });

  it('needs at most 150 kB for the first page, all of it compressed', async () => {
    await page.locator('main h1').waitFor();
    await page.waitForLoadState('networkidle');
    const sizes = z.array(z.number()).parse(
      await page.evaluate(`['navigation', 'resource']
        .flatMap((type) => performance.getEntriesByType(type).map((entry) => entry.transferSize))`),
    );
    const bytes = sizes.reduce((total, size) => total + size, 0);
    expect(sizes.length).toBeGreaterThan(10);
    expect(bytes).toBeGreaterThan(10_000);
    expect(bytes).toBeLessThanOrEqual(150_000);
  });

  it('keeps its files in the browser until the gateway changes', async () => {
    const html = await (await fetch(open.adminUrl)).text();
    const [, file = ''] = /<script type="module" src="([^"]+)"/.exec(html) ?? [];
    for (const encoding of ['br', 'gzip', 'identity']) {
      const { status, headers } = await fetch(open.adminUrl + file, {
        headers: { 'accept-encoding': encoding },
      });
      expect([status, headers.get('content-encoding')]).toEqual([
        200,
        encoding === 'identity' ? null : encoding,
      ]);
      expect(headers.get('cache-control')).toContain('immutable');
    }
    const tag = (await fetch(open.adminUrl)).headers.get('etag') ?? '';
    expect((await fetch(open.adminUrl, { headers: { 'if-none-match': tag } })).status).toBe(304);
    expect((await fetch(`${open.adminUrl}/console/0123456789ab/main.ts`)).status).toBe(404);
    expect((await fetch(`${open.adminUrl}${file}/../../package.json`)).status).toBe(404);
  });

  it('refuses a wrong secret in plain words, and signs out', async () => {
    await button('Sign out').click();
    await page.getByLabel('Operator secret or key').waitFor();
    await page.reload();
    await page.getByLabel('Operator secret or key').fill('wrong');
    await button('Sign in').click();
    await page.getByText('This is neither the operator secret nor an operator key.').waitFor();
    await signInOn(page, open);
  });

  testAccountPages();

  it('sorts, filters, copies and exports tables', async () => {
    await go('models');
    const readFirstModel = () => rows('Models').first().locator('td').first().textContent();
    await rows('Models').first().waitFor();
    const all = await rows('Models').count();
    await page.getByRole('button', { name: 'Model', exact: true }).click();
    const ascending = await readFirstModel();
    await page.getByRole('button', { name: /^Model/ }).click();
    await expect.poll(readFirstModel).not.toBe(ascending);
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
    expect(text).toContain('Providers, in the order they are tried');
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
    const readBackground = (): Promise<unknown> =>
      page.evaluate('getComputedStyle(document.documentElement).backgroundColor');
    const dark = await readBackground();
    await button(/^Theme/).click();
    await expect.poll(readBackground).not.toBe(dark);
    await page.reload();
    await expect.poll(readBackground).not.toBe(dark);
    await button('Theme: light').click();
    await expect.poll(readBackground).toBe(dark);
    await button('Theme: dark').click();
  });

  it('says so when a page or an account does not exist, and stops loading', async () => {
    await page.goto(`${open.adminUrl}/#/nowhere`);
    await page.getByText('Page not found.').waitFor();
    await go('accounts/nobody');
    await page.getByText('there is no account "nobody"').waitFor();
    expect(await page.locator('.tile, .table').count()).toBe(0);
  });

  it('has an accessible command palette', async () => {
    await go('');
    await button(/^Go to/).click();
    expect(await findBarriers(page)).toEqual([]);
    await page.keyboard.press('Escape');
  });

  // Its fields in turn: `console-every-page.test.ts`.
  it('shows hostile text that is stored, in its address or searched for as text', async () => {
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
    expect([...watched.origins]).toEqual([open.adminUrl]);
  });
});
