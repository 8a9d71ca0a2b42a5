/** The console in a browser, as an operator uses it: its pages, buttons and keys. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { findBarriers, signInOn } from '../support/operated-console.ts';
import { testAccountPages } from './account-pages.ts';
import {
  button,
  dialog,
  downloadExport,
  exportAs,
  go,
  hasBrowser,
  hostile,
  open,
  openPages,
  page,
  rows,
  watched,
} from './pages.ts';

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
    for (const encoding of ['gzip', 'identity']) {
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
    expect(await page.getByText('Your session has ended').count()).toBe(0);
    await page.reload();
    await page.getByLabel('Operator secret or key').fill('wrong');
    await button('Sign in').click();
    await page.getByText('This is neither the operator secret nor an operator key.').waitFor();
    await signInOn(page, open);
  });

  it('says what is missing while there is nothing yet', async () => {
    await go('calls');
    await page.getByText('No calls yet.').waitFor();
    await go('calls?account=unknown');
    await page.getByText('No stored calls match these filters.').waitFor();
    await go('?by=tag&tag=team');
    await page.getByText('No calls in this range have the tag “team”.').waitFor();
    await go('models?owner=unknown');
    await page.getByText('No models of “unknown”.').waitFor();
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
    const csv = await downloadExport('These rows as CSV');
    expect(csv.split('\r\n')[0]).toContain('Model,Providers,Input');
    expect(csv).toContain('demo/echo');
    expect(csv).not.toContain('openai/');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await exportAs('Copy these rows');
    await page.getByText('Table copied').waitFor();
    const copied: unknown = await page.evaluate('navigator.clipboard.readText()');
    expect(copied).toContain('Model\tProviders\tInput');
  });

  it('shows all facts of a model, with the date and source of its price', async () => {
    await go('models?search=gpt-4o-mini');
    expect(await page.getByLabel('Filter models').inputValue()).toBe('gpt-4o-mini');
    await page.getByRole('button', { name: 'openai/gpt-4o-mini', exact: true }).click();
    const text = (await dialog().textContent()) ?? '';
    expect(text).toMatch(/Price checked.*20\d\d-\d\d-\d\d/);
    expect(text).toContain('Providers, in the order they are tried');
    expect(text).toContain('Example: 1,000 tokens in, 500 out');
    await page.keyboard.press('Escape');
    await expect.poll(() => dialog().count()).toBe(0);
  });

  it('keeps the filter and the order of a table after a reload, and back from another page', async () => {
    await go('models');
    await page.getByRole('searchbox').fill('gpt-4');
    await page.getByRole('columnheader', { name: 'Output', exact: true }).getByRole('button').click();
    const readRows = () => rows('Models').allTextContents();
    await expect.poll(async () => (await readRows()).every((text) => text.includes('gpt-4'))).toBe(true);
    const shown = await readRows();
    await page.reload();
    await expect.poll(readRows).toEqual(shown);
    await page.getByRole('link', { name: 'Providers' }).click();
    await page.getByRole('heading', { name: 'Providers' }).waitFor();
    await page.goBack();
    await expect.poll(readRows).toEqual(shown);
    expect(await page.getByRole('searchbox').inputValue()).toBe('gpt-4');
  });

  it('navigates everywhere by keyboard', async () => {
    await go('accounts');
    await page.keyboard.press('Control+k');
    await page.keyboard.type('models');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Models' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('acme');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'acme' }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Models' }).waitFor();
    await page.keyboard.press('Control+k');
    const reply = await open.harness.post({ model: 'openai/none', messages: [] });
    const id = reply.headers.get('x-request-id') ?? '';
    await expect
      .poll(() => open.harness.gateway.verb('calls list').then((calls) => JSON.stringify(calls)))
      .toContain(id);
    await page.keyboard.type(id);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: `Call ${id}` }).waitFor();
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

  /** Runs a function of `format.ts`, which the page has loaded. */
  const format = (name: string, ...values: readonly unknown[]): Promise<unknown> =>
    page.evaluate(`import(document.querySelector('[src$="/main.ts"]').src.replace('main.ts', 'format.ts'))
      .then(({ ${name}: format }) => ${JSON.stringify(values)}.map((value) => format(...[value].flat())))`);

  it('writes durations in one unit more before the smaller one is full', async () => {
    expect(await format('formatDuration', 0.04, 9.94, 999.4, 999.6, 9996, 59_949, 59_960, 119_700)).toEqual([
      '< 0.1 ms',
      '9.9 ms',
      '999 ms',
      '1.00 s',
      '10.0 s',
      '59.9 s',
      '1 min 0 s',
      '2 min 0 s',
    ]);
  });

  it('writes one call, and more calls', async () => {
    expect(await format('formatThings', [0, 'call'], [1, 'call'], [1234, 'call'])).toEqual([
      '0 calls',
      '1 call',
      '1,234 calls',
    ]);
    await go('calls?account=unknown');
    await page.getByText('0 rows', { exact: true }).waitFor();
  });

  it('has room for the columns of a key, and for a long name', async () => {
    await page.setViewportSize({ width: 1280, height: 800 });
    await go('accounts?show=keys');
    const excess = `[...document.querySelectorAll('.scroll')]
      .map((each) => each.scrollWidth - each.clientWidth)`;
    expect(await page.evaluate(excess)).toEqual([0]);
    const model = `openai/${'x'.repeat(190)}`;
    await (await open.harness.post({ model, messages: [{ role: 'user', content: 'Hello!' }] })).text();
    const listCalls = () => open.harness.gateway.verb('calls list').then((calls) => JSON.stringify(calls));
    await expect.poll(listCalls).toContain(model);
    await go('calls');
    await rows('Calls').getByText(model).waitFor();
    expect(await page.evaluate(excess)).toEqual([0]);
  });

  it('says so when a page or an account does not exist, and stops loading', async () => {
    await page.goto(`${open.adminUrl}/#/nowhere`);
    await page.getByText('Page not found.').waitFor();
    await go('accounts/unknown');
    await page.getByText('there is no account "unknown"; create it first, or create its first key').waitFor();
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
