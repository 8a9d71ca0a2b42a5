/** The page for key holders in a browser. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { closePages, hasBrowser } from '../support/browser.ts';
import {
  findBarriers,
  openConsole,
  openPage,
  type ConsoleHarness,
  type WatchedPage,
} from '../support/operated-console.ts';
import { postJson } from '../support/post.ts';

it('is absent if the configuration says so', async () => {
  const open = await openConsole({ publicPage: false });
  expect((await fetch(`${open.harness.gateway.url}/`)).status).toBe(404);
  await open.close();
});

describe.runIf(hasBrowser)('the page for key holders', () => {
  let open: ConsoleHarness;
  let watched: WatchedPage;
  let page: Page;
  const rows = (name: string) => page.getByRole('region', { name, exact: true }).locator('tbody tr');
  const show = (name: string) => page.getByRole('button', { name, exact: true }).click();
  const showKey = async (): Promise<void> => {
    await page.getByLabel('API key').fill(open.harness.key);
    await show('Show my usage');
    await page.getByText('tester').first().waitFor();
  };

  beforeAll(async () => {
    open = await openConsole();
    watched = await openPage();
    page = watched.page;
    await page.goto(open.harness.gateway.url);
  });
  afterAll(async () => {
    await closePages();
    await open.close();
  });

  it('says where clients point, and what models cost', async () => {
    await page.getByText(`${open.harness.gateway.url}/v1`, { exact: true }).first().waitFor();
    const addresses = await page.locator('.card pre').allTextContents();
    expect(addresses).toEqual([...new Set(addresses)]);
    await rows('Models').first().waitFor();
    const listed = await rows('Models').allTextContents();
    const model = listed.find((text) => text.startsWith('openai/gpt-4o-mini'));
    expect(model).toContain('$0.15');
    expect(model).toContain('$0.01 a search');
    expect(await findBarriers(page)).toEqual([]);
  });

  it('says that models cannot be listed, not that there are none, and tries again', async () => {
    await page.route('**/v1/models', (route) => route.fulfill({ status: 503, body: '' }));
    await page.reload();
    await page.getByRole('alert').getByText('The gateway returned status 503.').waitFor();
    expect(await page.getByText('No models are available.').count()).toBe(0);
    await page.unroute('**/v1/models');
    await show('Try again');
    await rows('Models').first().waitFor();
  });

  it('refuses a key that is not valid', async () => {
    await page.getByLabel('API key').fill('sk-wrong');
    await show('Show my usage');
    await page.getByText('invalid').first().waitFor();
  });

  it('shows the balance, limits, usage and calls of a key', async () => {
    await open.harness.post({ model: 'openai/gpt-4o-mini', messages: [{ role: 'user', content: 'Hello!' }] });
    await open.harness.gateway.ended(1);
    await showKey();
    await expect.poll(() => page.locator('.tile', { hasText: 'Available' }).textContent()).toContain('$4.99');
    await expect.poll(() => rows('Usage').count()).toBe(1);
    await expect.poll(() => rows('My calls').count()).toBe(1);
    expect(await findBarriers(page)).toEqual([]);
  });

  it('shows each budget of the key, what it leaves and until when, also on a phone', async () => {
    const budgets: readonly (readonly [
      scope: string,
      subject: string,
      limit: string,
      per: string,
      hard: boolean,
    ])[] = [
      ['account', 'tester', '2', 'month', true],
      ['team', 'tester', '1', 'total', true],
      ['account', 'tester', '0.5', 'day', false],
    ];
    for (const [scope, subject, limit, per, hard] of budgets) {
      const order = { scope, subject, limit, per, hard };
      const headers = { authorization: `Bearer ${open.secret}` };
      expect((await postJson(`${open.adminUrl}/admin/budgets`, order, headers)).status).toBe(201);
    }
    await show('Reload');
    await expect.poll(() => rows('Budgets').count()).toBe(3);
    const texts = await rows('Budgets').allTextContents();
    // The one that leaves the least comes first.
    expect(texts[0]).toMatch(/^\s*account tester\s*each day\s*only warns\s*0 %\s*\$0\.50until/);
    expect(texts[1]).toMatch(/^\s*team tester\s*in all\s*0 %\s*\$1\.00\$1\.00\$0\.00\$0\.00\s*$/);
    expect(texts[2]).toMatch(/tester\s*each month\s*0 %\s*\$2\.00until 1 \w{3}/s);
    expect(await page.getByRole('meter', { name: 'team tester in all: 0 % used' }).count()).toBe(1);
    const available = page.locator('.tile', { hasText: 'Available' });
    expect(await available.textContent()).toContain("$1.00left of the team's budget in all");
    const size = page.viewportSize();
    await page.setViewportSize({ width: 390, height: 844 });
    for (const bar of await page.getByRole('meter').all()) {
      const box = await bar.boundingBox();
      expect((box?.x ?? 390) + (box?.width ?? 0)).toBeLessThan(390);
    }
    if (size) await page.setViewportSize(size);
    expect(await findBarriers(page)).toEqual([]);
  });

  it('shows of an account that pays later what its budgets leave, and never its balance', async () => {
    const headers = { authorization: `Bearer ${open.secret}`, 'content-type': 'application/json' };
    const change = (order: object) =>
      fetch(`${open.adminUrl}/admin/accounts/tester/terms`, {
        method: 'PATCH',
        headers,
        body: JSON.stringify(order),
      });
    expect((await change({ postpaid: true })).status).toBe(200);
    const taken = { account: 'tester', amount: '-9', reason: 'moved' };
    expect((await postJson(`${open.adminUrl}/admin/adjustments`, taken, headers)).status).toBe(201);
    await show('Reload');
    const available = page.locator('.tile', { hasText: 'Available' });
    await expect.poll(() => available.textContent()).toContain("$1.00left of the team's budget in all");
    await postJson(`${open.adminUrl}/admin/adjustments`, { ...taken, amount: '9' }, headers);
    expect((await change({ postpaid: false })).status).toBe(200);
  });

  it('charts what each model cost on each day', async () => {
    const chart = page.getByRole('figure', { name: 'Spend by day and model' });
    expect(await chart.locator('rect').count()).toBe(1);
    const plot = chart.locator('.plot');
    // Today is the last of thirty days.
    await plot.hover({ position: { x: ((await plot.boundingBox())?.width ?? 0) - 3, y: 20 } });
    await expect.poll(() => chart.locator('.tip').textContent()).toMatch(/openai\/gpt-4o-mini\s*\$0\.0/);
    expect(await page.locator('.legend').textContent()).toContain('openai/gpt-4o-mini');
  });

  it('opens a call of the key, with the reason of a refusal in words and nothing of operators', async () => {
    const order = { scope: 'team', subject: 'tester', limit: '0', per: 'hour' };
    const headers = { authorization: `Bearer ${open.secret}` };
    const made = await postJson(`${open.adminUrl}/admin/budgets`, order, headers);
    const { id } = z.object({ id: z.int() }).parse(await made.json());
    const { length } = open.harness.gateway.ends;
    const body = { model: 'openai/gpt-4o-mini', messages: [{ role: 'user', content: 'Hello!' }] };
    await postJson(`${open.harness.gateway.url}/v1/chat/completions`, body, {
      authorization: `Bearer ${open.harness.key}`,
    });
    await open.harness.gateway.ended(length + 1);
    await fetch(`${open.adminUrl}/admin/budgets/${id}`, { method: 'DELETE', headers });
    await show('Reload');
    await rows('My calls').filter({ hasText: 'budget_exceeded' }).getByRole('link').click();
    await page.getByText('A budget that counts this key is used up').waitFor();
    expect(await page.locator('.facts').textContent()).toContain('has 0 of 0 USD left for this hour');
    await page.getByText('No provider was called.').waitFor();
    const text = await page.locator('main').textContent();
    expect(text).not.toMatch(/vendor|margin|reserved by/i);
    expect(await findBarriers(page)).toEqual([]);
    await page.getByRole('link', { name: 'My key' }).click();
    await rows('My calls').filter({ hasText: 'completed' }).getByRole('link').click();
    await expect.poll(() => rows('Attempts').count()).toBe(1);
    expect(await page.locator('.facts').textContent()).toMatch(/Cost\s*\$0\.0/);
    await page.goBack();
    await rows('My calls').first().waitFor();
  });

  it('lists the usage of the last day first', async () => {
    const sums = { model: 'm', calls: 1, errors: 0, cost: '1', uses: [{ unit: 'input', count: 1 }] };
    await page.route('**/v1/key', async (route) => {
      const reply = await (await route.fetch()).json();
      const data = ['2026-11-02', '2026-11-01'].map((day) => ({ ...sums, day }));
      await route.fulfill({ json: { ...reply, usage: { ...reply.usage, data } } });
    });
    await show('Reload');
    await expect.poll(() => rows('Usage').count()).toBe(2);
    expect(await rows('Usage').first().textContent()).toContain('2026-11-02');
  });

  it('makes a streamed call, and shows its answer and exact cost', async () => {
    await show('Playground');
    await page.getByLabel('Model', { exact: true }).fill('openai/gpt-4o-mini');
    await page.getByLabel('Prompt').fill('Hello!');
    await show('Send');
    const reply = page.getByRole('region', { name: 'Reply' });
    await expect.poll(() => reply.locator('p').first().textContent()).toMatch(/cost \$\d/);
    expect(((await reply.locator('.text').last().textContent()) ?? '').length).toBeGreaterThan(0);
    expect(open.harness.vendor.requests).toHaveLength(2);
    await open.harness.gateway.ended(2);
    open.harness.vendor.script('*', {
      text: ['one ', 'two '],
      hold: new Promise(() => undefined),
      holdAfter: 2,
    });
    await page.getByLabel('Prompt').fill('Hello again!');
    await show('Send');
    await reply.locator('.text', { hasText: 'one' }).waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await show('Stop');
    await expect.poll(() => page.getByRole('button', { name: 'Stop' }).count()).toBe(0);
    open.harness.vendor.unscript();
  });

  it('keeps the key in its memory only', async () => {
    const stored = await page.evaluate(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href])',
    );
    expect(stored).not.toContain(open.harness.key);
    expect(await page.content()).not.toContain(open.harness.key);
    await page.reload();
    await page.getByLabel('API key').waitFor();
    await showKey();
    await show('Sign out');
    await page.getByLabel('API key').waitFor();
    expect(await page.getByLabel('API key').inputValue()).toBe('');
  });

  it('lists further calls of the key on demand', async () => {
    const refuse = () => open.harness.post({ model: 'openai/none', messages: [] });
    for (let wave = 0; wave < 12; wave += 1)
      await Promise.all(Array.from({ length: 10 }, () => refuse().then((reply) => reply.text())));
    await showKey();
    await expect.poll(() => rows('My calls').count()).toBe(100);
    await show('Load more');
    await expect.poll(() => rows('My calls').count()).toBeGreaterThan(120);
  });

  it('serves no page of the operators, and breaks no rule of its policy', async () => {
    for (const path of ['/admin/accounts', '/console/session'])
      expect((await fetch(open.harness.gateway.url + path)).status).toBe(404);
    expect(watched.complaints).toEqual([]);
    expect([...watched.origins]).toEqual([open.harness.gateway.url]);
  });
});
