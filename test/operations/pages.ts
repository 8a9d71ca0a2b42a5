/** A page of the console, signed in, and what its tests do on it. */
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll } from 'vitest';
import type { ConfigInput } from '../../core/config.ts';
import { closePages } from '../support/browser.ts';
import {
  openConsole,
  openPage,
  showPlace,
  signInOn,
  type ConsoleHarness,
  type WatchedPage,
} from '../support/operated-console.ts';

export { hasBrowser } from '../support/browser.ts';

export let open: ConsoleHarness;
export let watched: WatchedPage;
export let page: Page;

/** Opens one page for all tests of a file, since that takes longer than most of them. */
export function openPages(
  plugins: ConfigInput['plugins'] = [],
  options: Parameters<typeof openPage>[0] = {},
): void {
  beforeAll(async () => {
    open = await openConsole({}, plugins);
    watched = await openPage(options);
    page = watched.page;
    await signInOn(page, open);
  });
  afterEach(() => page.unrouteAll());
  afterAll(async () => {
    await closePages();
    await open.close();
  });
}

/** What would run if the console took it for markup. */
export const hostile =
  '<img src=x onerror="globalThis.hacked=1"><script>globalThis.hacked=1</script>&amp;\u202e${1}\'{[💥'.repeat(
    240,
  );

export const go = (path: string): Promise<void> => showPlace(page, path);
export const dialog = () => page.locator('dialog[open]');
/** Fills fields of the dialog by their labels, and presses a button of it. */
export async function submit(
  name: string,
  values: Readonly<Record<string, string | boolean>> = {},
): Promise<void> {
  for (const [label, value] of Object.entries(values)) {
    const field = dialog().getByLabel(label, { exact: true });
    if (typeof value === 'boolean') await field.setChecked(value);
    else if ((await field.getAttribute('type')) === null) await field.selectOption(value);
    else await field.fill(value);
  }
  await dialog().getByRole('button', { name }).click();
}
export const button = (name: string | RegExp) => page.getByRole('button', { name }).first();
/** Opens the menu of the first row that has one, or of another part of the page, and chooses. */
export const choose = async (name: string | RegExp, part = 'td'): Promise<void> => {
  await page
    .locator(part)
    .getByRole('button', { name: /^Actions for/ })
    .first()
    .click();
  await page.locator('.menu:popover-open').getByRole('button', { name }).click();
};
/** Opens the menu of the page, and chooses. */
export const chooseOfPage = (name: string | RegExp): Promise<void> => choose(name, 'main > .head');
export const region = (name: string) => page.getByRole('region', { name, exact: true });
export const rows = (name: string) => region(name).locator('tbody tr');
/** Opens the menu of a table that exports its rows, and chooses. */
export const exportAs = async (name: string): Promise<void> => {
  await button('Export').click();
  await page.locator('.menu:popover-open').getByText(name, { exact: true }).click();
};
/** The file that a table's menu exports. */
export const downloadExport = async (name: string): Promise<string> => {
  const [file] = await Promise.all([page.waitForEvent('download'), exportAs(name)]);
  return readFileSync(await file.path(), 'utf8');
};
