/** Teams, invitations, own keys and erasing, on the pages of the console and of key holders. */
import { describe, expect, it } from 'vitest';
import { findBarriers, openPage } from '../support/operated-console.ts';
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
  watched,
} from './pages.ts';

describe.runIf(hasBrowser)('teams in the console', () => {
  openPages();

  const show = (name: string) =>
    page.getByRole('group', { name: 'Show' }).getByRole('button', { name, exact: true }).click();

  it('a team with credit and a link for each of three members takes six clicks', async () => {
    let clicks = 0;
    const click = async (press: () => Promise<void>): Promise<void> => {
      clicks += 1;
      await press();
    };
    await go('accounts');
    await click(() => button('New account').click());
    await click(() => submit('Create account', { Name: 'search-team', 'Credit to add in USD': '100' }));
    await page.getByRole('heading', { name: 'search-team' }).waitFor();
    await click(() => show('Members'));
    await click(() => button('Invite').click());
    await click(() => submit('Create the links', { Names: 'ada, grace, edsger' }));
    await dialog().getByText('They will not be shown again').waitFor();
    expect(await dialog().locator('.secret pre').allTextContents()).toEqual([
      expect.stringContaining(`${open.harness.gateway.url}/#invitation=in-`),
      expect.stringContaining(`${open.harness.gateway.url}/#invitation=in-`),
      expect.stringContaining(`${open.harness.gateway.url}/#invitation=in-`),
    ]);
    await click(() => submit('Close'));
    expect(clicks).toBeLessThanOrEqual(6);
    await expect.poll(() => rows('Invitations').count()).toBe(3);
  });

  it('an account is created in a team and moved, and the list shows the tree', async () => {
    await go('accounts/search-team?show=team');
    await button('New account in this team').click();
    await submit('Create account', { Name: 'search-lab' });
    await page.getByRole('heading', { name: 'search-lab' }).waitFor();
    await page.getByText('In the team search-team').waitFor();
    await go('accounts');
    await button('New account').click();
    await submit('Create account', { Name: 'another-lab' });
    await page.getByRole('heading', { name: 'another-lab' }).waitFor();
    await chooseOfPage('Move');
    await submit('Move', { 'Into the team': 'nowhere' });
    await dialog().getByText('there is no account "nowhere"').waitFor();
    await submit('Move', { 'Into the team': 'search-team' });
    await page.getByText('In the team search-team').waitFor();
    await go('accounts');
    await rows('Accounts').first().waitFor();
    const listed = (await rows('Accounts').locator('td:first-child').allTextContents()).map((text) =>
      text.trim(),
    );
    const at = listed.indexOf('search-team');
    expect(listed.slice(at + 1, at + 3).map((text) => text.replaceAll(/\s/g, ''))).toEqual([
      '└another-lab',
      '└search-lab',
    ]);
  });

  it('an account shows a bar for each budget that counts it, also of the team above', async () => {
    await go('accounts/search-team');
    await chooseOfPage('New budget');
    await submit('Create budget', { Counts: 'team', 'Limit in USD': '50' });
    await rows('Budgets').filter({ hasText: 'team' }).waitFor();
    await go('accounts/search-lab');
    await rows('Budgets').filter({ hasText: 'search-team' }).waitFor();
    expect(await rows('Budgets').textContent()).toMatch(
      /team search-team\s*each month\s*0 %\s*\$50\.00until 1 \w{3}.*\$50\.00/s,
    );
    expect(await rows('Budgets').getByRole('meter').count()).toBe(1);
    expect(await findBarriers(page)).toEqual([]);
  });

  it('the link of an invitation gives a key after a click, once, and leaves the address', async () => {
    await go('accounts/search-team?show=members');
    await button('Invite').click();
    await submit('Create the links', { Names: 'barbara', 'Spend cap in USD': '7' });
    const link = (await dialog().locator('.secret pre').textContent()) ?? '';
    await submit('Close');
    // A program that looks at links uses nothing up.
    await (await fetch(link)).text();
    const { page: guest, complaints } = await openPage({ viewport: { width: 390, height: 800 } });
    await guest.goto(link);
    await guest.getByText('barbara gets a key of search-team').waitFor();
    expect(guest.url()).toBe(`${open.harness.gateway.url}/`);
    expect(await findBarriers(guest)).toEqual([]);
    await guest.getByRole('button', { name: 'Get my key' }).click();
    const secret = (await guest.locator('.secret pre').textContent()) ?? '';
    expect(secret).toMatch(/^sk-\w{42}$/);
    expect(await guest.locator('.settings pre').first().textContent()).toContain(secret);
    expect(await findBarriers(guest)).toEqual([]);
    await guest.getByRole('button', { name: 'Close' }).click();
    await guest.getByText('search-team').first().waitFor();
    expect(await guest.content()).toContain('$7');
    await guest.goto(link);
    await guest.getByText('This invitation is redeemed. Ask for a new one.').waitFor();
    expect(complaints).toEqual([]);
    expect(open.harness.gateway.log.join('')).not.toContain(link.split('=')[1]);
    await page.reload();
    await rows('Members').filter({ hasText: 'barbara' }).waitFor();
  });

  it('a member makes, rotates and revokes keys on the page for key holders', async () => {
    await go('accounts/search-team?show=members');
    await button('What they may do').click();
    await submit('Save', { 'Keys of each member': '3', 'Spend cap in USD': '4' });
    await page.getByText('Each may have 3 keys.').waitFor();
    await button('Invite').click();
    await submit('Create the links', { Names: 'alan' });
    const link = (await dialog().locator('.secret pre').textContent()) ?? '';
    await submit('Close');
    const { page: guest, complaints } = await openPage();
    const press = (name: string) => guest.getByRole('button', { name, exact: true }).first().click();
    const own = guest.getByRole('region', { name: 'My keys', exact: true }).locator('tbody tr');
    await guest.goto(link);
    await press('Get my key');
    await press('Close');
    await press('My keys');
    await expect.poll(() => own.count()).toBe(1);
    await press('New key');
    await guest.getByLabel('Name').fill('laptop');
    await guest.getByLabel('Spend cap in USD').fill('5');
    await press('Create key');
    await guest.getByText('your team allows at most 4 USD').waitFor();
    await guest.getByLabel('Spend cap in USD').fill('3');
    await press('Create key');
    await guest.getByText('it will not be shown again').waitFor();
    expect(await findBarriers(guest)).toEqual([]);
    await press('Close');
    await expect.poll(() => own.count()).toBe(2);
    const laptop = own.filter({ hasText: 'laptop' });
    const before = await laptop.textContent();
    const choose = async (row: typeof own, name: string): Promise<void> => {
      await row.getByRole('button', { name: /^Actions for/ }).click();
      await guest.locator('.menu:popover-open').getByRole('button', { name }).click();
      await guest.getByText('Its secret stops now.').waitFor();
      await guest.getByRole('dialog').getByRole('button', { name }).click();
    };
    await choose(laptop, 'Rotate');
    await guest.getByText('it will not be shown again').waitFor();
    await press('Close');
    await expect.poll(() => laptop.textContent()).not.toContain((before ?? '').slice(0, 13));
    const fresh = own.filter({ hasText: 'laptop' }).filter({ hasText: 'active' });
    await choose(fresh, 'Revoke');
    await expect.poll(() => own.filter({ hasText: 'active' }).count()).toBe(1);
    expect(complaints).toEqual([]);
  });

  it('an account is erased once its name is typed, and goes on under its number', async () => {
    await go('accounts/another-lab');
    await chooseOfPage('Erase');
    await submit('Erase for good', { 'Type another-lab to erase it': 'another' });
    await dialog().getByText('This is another name.').waitFor();
    await submit('Erase for good', { 'Type another-lab to erase it': 'another-lab' });
    await page.getByRole('heading', { name: /^erased-\d+/ }).waitFor();
    await go('accounts');
    await rows('Accounts').first().waitFor();
    expect(await page.content()).not.toContain('another-lab');
    expect(watched.complaints).toEqual([]);
  });
});
