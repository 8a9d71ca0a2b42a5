/**
 * The overview and the calls in a browser: figures that link to calls, details, and a stream watched live.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { downloadExport, go, hasBrowser, open, openPages, page, rows, watched } from './pages.ts';

const model = 'openai/gpt-4o-mini';
const hostile = '<img src=x onerror=alert(1)>';

describe.runIf(hasBrowser)('calls in a browser', () => {
  const ask = async (more: object = {}, headers: Readonly<Record<string, string>> = {}): Promise<void> => {
    const body = { model, messages: [{ role: 'user', content: 'Hello!' }], ...more };
    await (await open.harness.post(body, { headers })).text();
  };
  const tile = (label: string) =>
    page.locator('.tile', { has: page.getByText(label, { exact: true }) }).locator('strong');
  openPages();
  beforeAll(async () => {
    for (let made = 0; made < 3; made += 1)
      await ask({ stream: made === 0 }, made === 0 ? { 'x-tollgate-tags': 'team:search' } : {});
    await ask({ model: `openai/${hostile}` });
    await open.harness.gateway.ended(4);
    await go('');
  });

  it('the overview counts calls, tokens, errors and exact spend', async () => {
    await expect.poll(() => tile('Calls').textContent()).toBe('4');
    expect(await tile('Errors').textContent()).toBe('25 %');
    const { used } = await open.harness.balance();
    const spend = (await tile('Spend').textContent()) ?? '';
    expect(Number(spend.replace('$', ''))).toBe(used);
    expect(used).toBeGreaterThan(0);
    expect(await tile('Reserved').textContent()).toBe('$0.00');
  });

  it('each segment of the chart links to its calls', async () => {
    await go('?show=calls');
    const segment = page.locator(`.plot a[aria-label^="${model}"]`).first();
    await segment.waitFor({ state: 'attached' });
    await segment.dispatchEvent('click');
    await page.getByRole('heading', { name: 'Calls' }).waitFor();
    await expect.poll(() => rows('Calls').count()).toBe(3);
    expect(await page.getByLabel('Model', { exact: true }).inputValue()).toBe(model);
    await go('?by=tag&tag=team');
    await rows('Breakdown').getByRole('link', { name: 'team:search' }).click();
    await page.getByRole('heading', { name: 'Calls' }).waitFor();
    await expect.poll(() => rows('Calls').count()).toBe(1);
  });

  it('leads from calls without a model, and from waiting times, to all calls of their time', async () => {
    await go('?show=calls');
    const segments = page.locator('.plot rect');
    await segments.first().waitFor({ state: 'attached' });
    expect(await page.locator('.plot a rect').count()).toBe(await segments.count());
    for (const address of ['?show=calls', '?show=ttft']) {
      await go(address);
      const link = page.locator(address.endsWith('ttft') ? '.plot a' : '.plot a[aria-label^="none"]').last();
      await link.waitFor({ state: 'attached' });
      await link.dispatchEvent('click');
      await page.getByRole('heading', { name: 'Calls' }).waitFor();
      await expect.poll(() => rows('Calls').count()).toBe(4);
    }
  });

  it('the overview shows other figures, groups and ranges, and keeps them in its URL', async () => {
    await go('');
    for (const figure of ['Calls', 'Tokens', 'Errors', 'Cache hits', 'Time to first token', 'Spend'])
      await page
        .getByRole('group', { name: 'Figure' })
        .getByRole('button', { name: figure, exact: true })
        .click();
    for (const group of ['account', 'provider', 'key']) {
      await page.getByLabel('By', { exact: true }).selectOption(group);
      const name = group === 'account' ? 'tester' : group === 'provider' ? 'openai' : /^[\da-f]{16}$/;
      await rows('Breakdown').getByText(name).first().waitFor();
    }
    for (const range of ['1 h', '7 d', '30 d', '24 h']) {
      await page.getByRole('button', { name: range, exact: true }).click();
      await expect.poll(() => tile('Calls').textContent()).toBe('4');
    }
    await page.reload();
    expect(await page.getByLabel('By', { exact: true }).inputValue()).toBe('key');
    await page.getByLabel('From', { exact: true }).fill('2020-01-01');
    await page.getByLabel('To', { exact: true }).fill('2020-01-05');
    await expect.poll(() => tile('Calls').textContent()).toBe('0');
    await page.getByText('No calls in this range.').waitFor();
    // The last day is part of the range.
    const today = new Intl.DateTimeFormat('sv-SE').format(new Date());
    for (const name of ['From', 'To']) await page.getByLabel(name, { exact: true }).fill(today);
    await expect.poll(() => tile('Calls').textContent()).toBe('4');
    for (const name of ['From', 'To'])
      expect(await page.getByLabel(name, { exact: true }).inputValue()).toBe(today);
    await page.getByRole('button', { name: '24 h' }).click();
    expect(await downloadExport('Usage as CSV')).toContain('key,model,day');
  });

  it('lists past calls, finds them by every filter, and exports them', async () => {
    await go('calls');
    await expect.poll(() => rows('Calls').count()).toBe(4);
    const expectOnly = async (label: string, text: string, expected: number): Promise<void> => {
      const field = page.getByLabel(label, { exact: true });
      await field.fill(text);
      await field.blur();
      await expect.poll(() => rows('Calls').count()).toBe(expected);
      await page.getByRole('button', { name: 'Clear' }).click();
      await expect.poll(() => rows('Calls').count()).toBe(4);
    };
    await expectOnly('Model', model, 3);
    await expectOnly('Account', 'unknown', 0);
    await expectOnly('Provider', 'openai', 3);
    await expectOnly('Protocol', 'messages', 0);
    await expectOnly('Min cost in USD', '100', 0);
    await expectOnly('Max cost in USD', '0', 1);
    await expectOnly('From', '2099-01-01T00:00', 0);
    await expectOnly('To', '2020-01-01T00:00', 0);
    await page.getByLabel('Outcome').selectOption('error');
    await expect.poll(() => rows('Calls').count()).toBe(1);
    expect(await rows('Calls').first().textContent()).toContain(hostile);
    await page.getByRole('button', { name: 'Clear' }).click();
    expect((await downloadExport('1000 calls as CSV')).trim().split('\n')).toHaveLength(5);
    await page.getByLabel('Min cost in USD').fill('much');
    await page.getByLabel('Min cost in USD').blur();
    await page.getByRole('alert').waitFor();
    await page.getByRole('button', { name: 'Clear' }).click();
    expect(await page.locator('img').count()).toBe(0);
  });

  it('shows where a call spent its time, what it cost and why it was routed as it was', async () => {
    await go(`calls?model=${encodeURIComponent(model)}`);
    await rows('Calls').first().getByRole('link').first().click();
    await page.getByRole('heading', { name: /^Call / }).waitFor();
    for (const step of ['Check the key', 'Reserve the cost', 'Attempt 1', 'Settle in the ledger'])
      await page.locator('.waterfall').getByText(step).waitFor();
    expect(await rows('Attempts').count()).toBe(1);
    const lines = (await rows('Cost lines').allTextContents()).map((line) => line.replaceAll(/\s+/g, ' '));
    expect(lines.slice(-2)).toEqual([
      expect.stringMatching(/post.*total.*\$0\.0/),
      expect.stringMatching(/post.*charged.*\$0\.0/),
    ]);
    const amounts = lines.map((line) => Math.round(Number(/\$([\d.]+)\s*$/.exec(line)?.[1]) * 1e9));
    const [total = 0] = amounts.slice(-2);
    expect(lines).toHaveLength(4);
    expect(lines[0]).toMatch(/input.*standard.*per million/);
    expect((amounts[0] ?? 0) + (amounts[1] ?? 0)).toBe(total);
    expect(await rows('Ledger entries').allTextContents()).toEqual([
      expect.stringContaining('reserve'),
      expect.stringContaining('post'),
    ]);
    await page.getByText('Nothing was lost').waitFor();
    expect(await page.locator('dt', { hasText: 'Used:' }).allTextContents()).toEqual([
      'Used: input',
      'Used: output',
    ]);
  });

  it('says of a refused call that no provider was called, and nothing of its cost', async () => {
    await go(`calls?outcome=refused`);
    await rows('Calls').first().getByRole('link').first().click();
    await page.getByRole('heading', { name: 'Losses and approximations' }).waitFor();
    expect(await page.getByText('No provider was called.').count()).toBe(2);
    expect(
      await page
        .locator('dt', { hasText: /^Cost$/ })
        .locator('+ dd')
        .textContent(),
    ).toBe('$0.00 ');
  });

  it('shows both waiting times of a model in its colour', async () => {
    await go('?show=ttft');
    const lines = page.locator('.plot polyline');
    await lines.first().waitFor({ state: 'attached' });
    const colours = await lines.evaluateAll((all) => all.map((each) => each.getAttribute('class')));
    expect(colours.slice(0, 2).map((each) => /series-\d/.exec(each ?? '')?.[0])).toEqual([
      'series-0',
      'series-0',
    ]);
  });

  it('says so when a call is not stored', async () => {
    await go('calls/req_unknown');
    await page.getByRole('alert').waitFor();
  });

  it('shows a stream live, as it runs and when it has ended, and can be paused', async () => {
    await go('calls?show=live');
    await page.getByText('Live', { exact: true }).last().waitFor();
    await page.getByText(/^0 running, \d+ ended/).waitFor();
    const { promise, resolve } = Promise.withResolvers<void>();
    open.harness.vendor.script('*', { text: ['one ', 'two ', 'three'], hold: promise, holdAfter: 3 });
    const streamed = ask({ stream: true });
    await page.getByText('1 running').waitFor();
    await expect.poll(() => rows('Live calls').first().textContent()).toContain('running');
    resolve();
    await streamed;
    await expect.poll(() => rows('Live calls').first().textContent()).toContain('completed');
    open.harness.vendor.unscript();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('Paused').waitFor();
    const before = await rows('Live calls').count();
    await ask();
    await open.harness.gateway.ended(6);
    expect(await rows('Live calls').count()).toBe(before);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('Live', { exact: true }).last().waitFor();
    await ask();
    await expect.poll(() => rows('Live calls').count()).toBeGreaterThan(before);
  });

  it('goes on counting after a pause, and forgets calls whose end it did not see', async () => {
    await go('');
    await go('calls?show=live');
    await page.getByText('Live', { exact: true }).last().waitFor();
    for (let made = 0; made < 3; made += 1) await ask();
    await page.getByText('0 running, 3 ended').waitFor();
    const { promise, resolve } = Promise.withResolvers<void>();
    open.harness.vendor.script('*', { text: ['one ', 'two ', 'three'], hold: promise, holdAfter: 3 });
    const streamed = ask({ stream: true });
    await page.getByText('1 running, 3 ended').waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('Paused').waitFor();
    resolve();
    await streamed;
    open.harness.vendor.unscript();
    await page.getByRole('button', { name: 'Continue' }).click();
    // The end of the stream is seen only if it came late.
    await page.getByText(/^0 running, [34] ended/).waitFor();
  });

  it('keeps no more than 200 live calls, however many come', async () => {
    await go('');
    await go('calls?show=live');
    await page.getByText('Live', { exact: true }).last().waitFor();
    const refused = { model: 'openai/none', messages: [] };
    for (let wave = 0; wave < 13; wave += 1)
      await Promise.all(
        Array.from({ length: 20 }, () => open.harness.post(refused).then((reply) => reply.text())),
      );
    await page.getByText(/2[67]\d ended/).waitFor();
    expect(await rows('Live calls').count()).toBe(200);
  });

  it('counts all calls that run, also those beyond the list', async () => {
    const at = new Date().toISOString();
    const starts = Array.from({ length: 210 }, (_, id) => ({ id: `call-${id}`, at, model, protocol: 'm' }));
    const body = `event: start\ndata: ${JSON.stringify(starts)}\n\n`;
    await page.route('**/admin/events', (route) => route.fulfill({ contentType: 'text/event-stream', body }));
    await go('');
    await go('calls?show=live');
    await page.getByText('210 running').waitFor();
    expect(await rows('Live calls').count()).toBe(200);
  });

  it('writes an account statement for the month', async () => {
    await go('accounts/tester?show=statement');
    await expect
      .poll(() => page.locator('.tile', { hasText: 'Credited' }).first().locator('strong').textContent())
      .toBe('$5.00');
    expect(await downloadExport('Statement as CSV')).toContain('top-up');
    // Its day begins at ten in UTC.
    await page.getByLabel('Time zone').selectOption('Pacific/Kiritimati');
    await page
      .getByRole('region', { name: /^Statement .*scrollable/ })
      .getByText('usage')
      .first()
      .waitFor();
    expect(await downloadExport('Statement as CSV')).toMatch(/T10:00:00.000Z,usage/);
    expect(page.url()).toContain('zone=Pacific%2FKiritimati');
    await page.getByRole('button', { name: 'Usage' }).click();
    await page.getByRole('link', { name: model }).first().waitFor();
  });

  it('asks to sign in again if the session ended while calls were watched', async () => {
    await go('');
    await page.evaluate("fetch('/console/session', { method: 'DELETE' })");
    await page.evaluate("location.hash = '/calls?show=live'");
    await page.getByRole('alert').getByText('Your session has ended. Sign in again.').waitFor();
    await page.getByLabel('Operator secret or key').fill(open.secret);
    await page.keyboard.press('Enter');
    await page.getByText('Live', { exact: true }).last().waitFor();
  });

  it('violates no rule of its own content security policy', () => {
    expect(watched.complaints).toEqual([]);
    expect([...watched.origins]).toEqual([open.adminUrl]);
  });
});
