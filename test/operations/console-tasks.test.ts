/** What operators come for, and how many clicks it takes. Typing does not count. */
import type { Locator } from 'playwright-core';
import { beforeAll, expect, it, describe } from 'vitest';
import { images } from '../../plugins/protocols/images/index.ts';
import { postJson } from '../support/post.ts';
import { dialog, go, hasBrowser, open, openPages, page, region, rows } from './pages.ts';

const model = 'openai/gpt-4o-mini';

describe.runIf(hasBrowser)('tasks of operators in a browser', () => {
  let clicks = 0;
  const click = async (target: Locator): Promise<void> => {
    clicks += 1;
    await target.click();
  };
  const start = async (): Promise<void> => {
    await go('');
    clicks = 0;
  };
  const link = (name: string) =>
    page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name, exact: true });
  const command = (name: string | RegExp) => dialog().getByRole('option', { name, exact: true });

  openPages([images()]);
  beforeAll(async () => {
    await open.harness.gateway.newKey({ account: 'analytics', credit: '5', name: 'ada' });
    const messages = [{ role: 'user', content: 'Hello!' }];
    for (const wanted of [model, 'openai/none'])
      await (await open.harness.post({ model: wanted, messages })).text();
    await open.harness.gateway.ended(2);
  });

  it('a price is raised, from a date on, with three clicks, and undone with one', async () => {
    await start();
    await click(link('Prices'));
    await click(page.getByRole('button', { name: 'Change a price' }));
    await dialog().getByLabel('Model', { exact: true }).fill(model);
    await page.keyboard.press('Tab');
    await expect.poll(() => dialog().getByLabel('Input in USD', { exact: true }).inputValue()).not.toBe('');
    await dialog().getByLabel('Input in USD', { exact: true }).fill('0.30');
    await dialog().getByLabel('Holds from').fill('2099-01-31T00:00');
    await click(dialog().getByRole('button', { name: 'Change the price' }));
    await rows('Price changes').getByText('$0.30').waitFor();
    expect(clicks).toBe(3);
    expect(await rows('Price changes').textContent()).toMatch(/Input.*→ \$0\.30.*to come/);
    await page.getByRole('button', { name: /^Undo price change/ }).click();
    await rows('Price changes').getByText('undone').waitFor();
  });

  it('a leaked key is stopped with three clicks, found by its name', async () => {
    await start();
    await click(page.getByRole('button', { name: /^Go to/ }));
    await page.keyboard.type('ada');
    await command(/^Calls of the key ada ….{4} of analytics$/).waitFor();
    const [first, second] = await dialog().getByRole('option').allTextContents();
    expect([first, second]).toEqual([
      expect.stringContaining('Calls of the key ada'),
      expect.stringContaining('Stop the key ada'),
    ]);
    await click(command(/^Stop the key ada …/));
    await click(dialog().getByRole('button', { name: 'Disable' }));
    await page.getByText('The key is disabled.').waitFor();
    expect(clicks).toBe(3);
    await go('accounts/analytics');
    await rows('Keys').getByText('disabled').waitFor();
  });

  it("a month's bill is shown with two clicks", async () => {
    await start();
    await click(page.getByRole('button', { name: /^Go to/ }));
    await page.keyboard.type('statement tester');
    await click(command('Statement of tester'));
    await page.locator('.tile', { hasText: 'Closing balance' }).waitFor();
    expect(clicks).toBe(2);
    await region(`Statement ${new Date().toISOString().slice(0, 7)}`)
      .getByText('top-up')
      .waitFor();
  });

  it('why a call failed is shown with two clicks', async () => {
    await start();
    await click(page.locator('.tile', { hasText: 'Errors' }));
    await click(rows('Calls').first().getByRole('link').first());
    await page.locator('dt', { hasText: 'Error' }).first().waitFor();
    expect(clicks).toBe(2);
    expect(await page.locator('dl').first().textContent()).toContain('openai/none');
  });

  it('who spent most yesterday is shown with one click and a choice', async () => {
    await start();
    await click(page.getByRole('button', { name: 'Yesterday' }));
    clicks += 1;
    await page.getByLabel('By', { exact: true }).selectOption('key');
    await page.getByText('No calls in this range.').waitFor();
    await page.getByRole('button', { name: '24 h' }).click();
    await rows('Breakdown').first().waitFor();
    expect(clicks).toBe(2);
    expect(page.url()).toContain('by=key');
  });

  it('a filter offers the names of keys that exist, and finds the calls of one', async () => {
    await go('calls');
    const field = page.getByLabel('Key', { exact: true });
    await field.fill('ad');
    await page.locator('datalist option[value=ada]').waitFor({ state: 'attached' });
    await field.fill('zzz');
    await expect.poll(() => page.locator('datalist#key-list option').count()).toBe(0);
    await field.fill('ada');
    await field.blur();
    await page.getByText('No stored calls match these filters.').waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await expect.poll(() => rows('Calls').count()).toBe(2);
    expect(await rows('Calls').first().textContent()).toContain('tester');
  });

  it('a phone shows each row as a card with all its values, and the filters behind a button', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await go('calls');
    expect(await page.getByLabel('Model', { exact: true }).isVisible()).toBe(false);
    await page.getByRole('button', { name: 'Filters' }).click();
    expect(await page.getByLabel('Model', { exact: true }).isVisible()).toBe(true);
    const hidden = await rows('Calls')
      .first()
      .locator('td')
      .evaluateAll((cells) =>
        cells.filter((cell) => cell.textContent !== '' && cell.getBoundingClientRect().right > 390),
      );
    expect(hidden).toEqual([]);
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  it('a picture is made in the playground with at most five clicks', async () => {
    await start();
    await click(link('Playground'));
    clicks += 1;
    await page.getByLabel('Protocol').selectOption('images');
    await click(page.getByRole('button', { name: 'Make a key', exact: true }));
    await page.getByText('key ready').waitFor();
    await page.getByLabel('Prompt').fill('a harbour at low tide');
    await page.getByLabel('Model', { exact: true }).fill('demo/paint');
    await click(page.getByLabel('Stream'));
    await click(page.getByRole('button', { name: 'Send', exact: true }));
    await page.getByRole('region', { name: 'Reply' }).getByRole('img').waitFor();
    expect(clicks).toBeLessThanOrEqual(5);
  });

  it('what each session of Claude Code cost, and lost, is shown with one click', async () => {
    const { url } = open.harness.gateway;
    const headers = {
      authorization: `Bearer ${open.harness.key}`,
      'user-agent': 'claude-cli/2.1.0 (external, cli)',
      'x-session-id': 'harbour-at-noon',
      'anthropic-version': '2023-06-01',
    };
    const system = [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }];
    const messages = [{ role: 'user', content: 'Hello!' }];
    const reply = await postJson(`${url}/v1/messages`, { model, max_tokens: 20, system, messages }, headers);
    expect(reply.status).toBe(200);
    await reply.text();
    await start();
    await click(link('Sessions'));
    const row = rows('Sessions').filter({ hasText: 'harbour-at-noon' });
    await row.getByText('Claude Code').waitFor();
    expect(await row.textContent()).toMatch(/\$0\.00\d/);
    await rows('Losses of clients').getByText('Claude Code loses').waitFor();
    expect(clicks).toBe(1);
  });
});
