/** What people see of the console by their roles, and the page that lists people, in a real browser. */
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { closePages, hasBrowser } from '../support/browser.ts';
import { findBarriers, openPage, showPlace, type WatchedPage } from '../support/operated-console.ts';
import { openHouse, type House } from './house.ts';

let house: House;
let watched: WatchedPage;
beforeAll(async () => {
  house = await openHouse();
  await house.ask('POST', '/admin/accounts', { name: 'search' });
  await house.ask('POST', '/admin/keys', { account: 'search', name: 'ci' });
  await house.enter('mia');
});
afterEach(async () => {
  expect(watched.complaints).toEqual([]);
  await watched.page.close();
});
afterAll(async () => {
  await closePages();
  await house.close();
});

/**
 * Signs somebody in, and shows a place. The clock of the tests is behind the browser's, to which the cookies
 * of the identity provider are too old.
 */
async function enter(subject: string, place: string): Promise<Page> {
  const { cookies } = await house.enter(subject);
  watched = await openPage();
  const { page } = watched;
  const url = house.consoleUrl;
  await page.context().addCookies([...cookies].map(([name, value]) => ({ name, value, url })));
  await page.goto(url);
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
  await showPlace(page, place);
  return page;
}

/** Those in the head of the page, with those of its menu. */
const listButtons = (page: Page): Promise<string[]> => page.locator('main > .head button').allTextContents();

describe.runIf(hasBrowser)('a signed-in person', () => {
  it('sees the buttons of an account that the role allows, and no others', async () => {
    const seen: Record<string, string[]> = {};
    const changes = ['Terms', 'New budget', 'Adjust', 'Move', 'Disable / close', 'Erase'];
    const all = ['Add credit', 'New key', ...changes];
    for (const subject of ['ann', 'abe', 'bea', 'vic']) {
      const page = await enter(subject, 'accounts/search');
      const found = (await listButtons(page)).map((text) => text.trim());
      seen[subject] = all.filter((name) => found.includes(name));
      if (subject !== 'vic') await page.close();
    }
    expect(seen).toEqual({
      ann: all,
      abe: all.filter((name) => name !== 'Adjust'),
      bea: ['Add credit', 'Terms', 'New budget', 'Adjust'],
      vic: [],
    });
  });

  it('finds the page of people as an owner or an admin only', async () => {
    for (const [subject, count] of [
      ['abe', 1],
      ['bea', 0],
    ] as const) {
      const page = await enter(subject, '');
      expect([subject, await page.getByRole('link', { name: 'People' }).count()]).toEqual([subject, count]);
      if (subject === 'abe') await page.close();
    }
  });
});

describe.runIf(hasBrowser)('the page of people', () => {
  it('lets an owner remove a person and restore them', async () => {
    const page = await enter('ann', 'people');
    expect(await findBarriers(page)).toEqual([]);
    const row = page.getByRole('row').filter({ hasText: 'mia@house.example' });
    expect(await row.textContent()).toContain('member');
    const choose = async (name: string): Promise<void> => {
      await row.getByRole('button', { name: /^Actions for/ }).click();
      await page.locator('.menu:popover-open').getByRole('button', { name }).click();
    };
    await choose('Remove');
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await row.getByText('removed').waitFor();
    await expect(house.enter('mia')).rejects.toThrow('403');
    await choose('Restore');
    await row.getByText('active').waitFor();
    await house.enter('mia');
  });

  it('shows an admin who has signed in, and lets them remove nobody', async () => {
    const page = await enter('abe', 'people');
    await page.getByRole('row').filter({ hasText: 'mia@house.example' }).waitFor();
    expect(await page.getByRole('button', { name: /^Actions for/ }).count()).toBe(0);
  });
});
