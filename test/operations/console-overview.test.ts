/** The console in a browser far from UTC: the days of the overview, and keys with their names and times. */
import { beforeAll, describe, expect, it } from 'vitest';
import { choose, dialog, go, hasBrowser, open, openPages, page, rows, submit } from './pages.ts';

describe.runIf(hasBrowser)('the overview in a browser', () => {
  // Five hours behind UTC, and four until the first Sunday of November.
  openPages([], { timezoneId: 'America/New_York', locale: 'en-US' });
  beforeAll(async () => {
    const body = { model: 'openai/gpt-4o-mini', messages: [{ role: 'user', content: 'Hello!' }] };
    await (await open.harness.post(body)).text();
    await open.harness.gateway.ended(1);
  });

  const day = (label: 'From' | 'To') => page.getByLabel(label, { exact: true });
  const ticks = (): Promise<string[]> => page.locator('.ticks span').allTextContents();
  const range = () => page.locator('.card > .dim').last();

  it('takes a day that is typed, and asks for nothing while its year is half typed', async () => {
    await go('');
    const asked: string[] = [];
    page.on('request', (request) => void asked.push(request.url()));
    for (const [label, text] of [
      ['From', '11012026'],
      ['To', '11042026'],
    ] as const) {
      await day(label).focus();
      await page.keyboard.type(text);
    }
    await range().getByText('From 1 Nov, 00:00 to 5 Nov, 00:00.').waitFor();
    expect([await day('From').inputValue(), await day('To').inputValue()]).toEqual([
      '2026-11-01',
      '2026-11-04',
    ]);
    expect(page.url()).toContain('from=2026-11-01&to=2026-11-04');
    expect(asked.at(-1)).toContain('from=2026-11-01T04%3A00%3A00.000Z&to=2026-11-05T05%3A00%3A00.000Z');
    expect(asked.filter((url) => /from=(?!2026)/.test(url))).toEqual([]);
    await go('calls');
    await day('From').focus();
    await page.keyboard.type('11012026');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.type('0930PM');
    await expect.poll(() => page.url()).toContain('from=2026-11-02T02%3A30%3A00.000Z');
    expect(asked.filter((url) => /from=(?!2026)/.test(url))).toEqual([]);
  });

  it('asks for the chosen dates in UTC where a bar is a day in UTC, and says so', async () => {
    await go('');
    await day('From').fill('2026-11-01');
    await day('To').fill('2026-11-30');
    await range().getByText('Days in UTC, from 2026-11-01 to 2026-11-30.').waitFor();
    expect((await ticks()).slice(0, 2)).toEqual(['1 Nov', '6 Nov']);
    expect([await day('From').inputValue(), await day('To').inputValue()]).toEqual([
      '2026-11-01',
      '2026-11-30',
    ]);
  });

  it('shows a bar with its total for each day of the reader, of 25 hours where clocks go back', async () => {
    await page.route('**/admin/overview*', async (route) => {
      const reply = await (await route.fetch()).json();
      const times: string[] = reply.times;
      const ones = times.map(() => 1);
      const series = ['one', 'two'].map((name) => ({
        name,
        totals: reply.totals,
        p50: times.map(() => 5),
        p95: times.map(() => 9),
        cost: times.map(() => '0.01'),
        calls: ones,
        errors: ones,
        input: ones,
        output: ones,
        cache_hits: ones,
      }));
      await route.fulfill({ json: { ...reply, series } });
    });
    await go('?show=calls&from=2026-10-31&to=2026-11-04');
    expect(await ticks()).toEqual(['Sat 31 Oct', 'Sun 1 Nov', 'Mon 2 Nov', 'Tue 3 Nov', 'Wed 4 Nov']);
    await range().getByText('Times: America/New_York.').waitFor();
    const { x = 0, y = 0, width = 0 } = (await page.locator('.plot').boundingBox()) ?? {};
    await page.mouse.move(x + width * 0.3, y + 100);
    expect(await page.locator('.tip').textContent()).toMatch(/Sun 1 Nov.*one25two25Total50/);
    await go('?show=ttft&from=2026-10-31&to=2026-11-04');
    expect(await ticks()).toEqual(['Sat 31 Oct', 'Sun 1 Nov', 'Mon 2 Nov', 'Tue 3 Nov', 'Wed 4 Nov']);
    await page.getByRole('button', { name: '7 d' }).click();
    await expect.poll(() => ticks().then(({ length }) => length)).toBe(7);
  });

  it('says how much each figure changed since the period before', async () => {
    await page.route('**/admin/overview*', async (route) => {
      const reply = await (await route.fetch()).json();
      const isBefore = route.request().url().includes('top=1');
      const [calls, errors] = isBefore ? [40, 4] : [50, 3];
      const totals = { ...reply.totals, calls, errors, cost: '1', margin: '0.5' };
      await route.fulfill({ json: { ...reply, totals } });
    });
    await go('');
    const note = (label: string) => page.locator('.tile', { hasText: label }).locator('.note').first();
    await note('Calls').getByText('+25 %').waitFor();
    expect(await note('Errors').textContent()).toContain('−25 % · 3 calls');
    expect(await note('Spend').textContent()).toContain('+0 % · vendors');
    await go('?from=2026-11-01&to=2026-11-02');
    expect(await note('Calls').textContent()).not.toContain('%');
  });

  it('says that figures are incomplete if more is not summed up than is read one by one', async () => {
    for (const [behind, hints] of [
      [60_000, ['Not complete yet: 60,000 entries and calls are still being summed up.']],
      [123, []],
    ] as const) {
      await page.route('**/admin/overview*', async (route) => {
        const reply = await route.fetch();
        await route.fulfill({ json: { ...(await reply.json()), behind } });
      });
      await go('');
      await expect.poll(() => range().textContent()).toMatch(/^From/);
      const shown = await page.locator('main .hint').allTextContents();
      expect(shown.map((text) => text.trim())).toEqual(hints);
    }
  });

  it('shows a million dollars to the last place, and few errors as some', async () => {
    await page.route('**/admin/overview*', async (route) => {
      const reply = await (await route.fetch()).json();
      const totals = { ...reply.totals, cost: '1002316.981236638', calls: 10_000, errors: 3 };
      await route.fulfill({ json: { ...reply, totals } });
    });
    for (const width of [1440, 360]) {
      await page.setViewportSize({ width, height: 800 });
      await go('');
      await page.locator('.tile').getByText('$1,002,316.98').first().waitFor();
      const cut = `[...document.querySelectorAll('.tile strong')]
        .filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.textContent)`;
      expect(await page.evaluate(cut)).toEqual([]);
    }
    await page.locator('.tile', { hasText: 'Errors' }).getByText('< 0.1 %').waitFor();
    await page.setViewportSize({ width: 1280, height: 720 });
  });

  it('lists all series of a bar beside it, the sum of the others too', async () => {
    await page.route('**/admin/overview*', async (route) => {
      const reply = await (await route.fetch()).json();
      const series = Array.from({ length: 13 }, (_, index) => ({
        ...reply.series[0],
        name: index === 12 ? null : `model-${index}`,
      }));
      await route.fulfill({ json: { ...reply, series, others: 3 } });
    });
    await go('?show=calls');
    const { x = 0, y = 0, width = 0 } = (await page.locator('.plot').boundingBox()) ?? {};
    await page.mouse.move(x + width - 2, y + 100);
    await page.locator('.tip').getByText('3 others').waitFor();
  });

  it('says that a range is too long', async () => {
    await go('');
    await day('From').fill('2020-01-01');
    await page.getByRole('alert').getByText('an overview spans at most 1000 days').waitFor();
  });

  async function askAdmin(path: string, init: RequestInit = {}): Promise<string> {
    const headers = { authorization: `Bearer ${open.secret}`, 'content-type': 'application/json' };
    const reply = await fetch(`${open.adminUrl}/admin/${path}`, { headers, ...init });
    expect(reply.ok).toBe(true);
    return reply.text();
  }
  const sendAdmin = (method: string, path: string, body: object): Promise<string> =>
    askAdmin(path, { method, body: JSON.stringify(body) });

  it('keeps when a key expires if only its name changes, in an hour that comes twice too', async () => {
    // The second half past one of that night.
    const limits = { expires: '2027-11-07T06:30:00.123Z' };
    await sendAdmin('POST', 'keys', { account: 'expiring', limits });
    await go('accounts/expiring');
    await choose('Change');
    expect(await dialog().getByLabel('Expires').inputValue()).toMatch(/^2027-11-07T01:30/);
    await submit('Save', { Name: 'renamed' });
    await rows('Keys').getByText('renamed').waitFor();
    expect(await askAdmin('keys?account=expiring')).toContain(limits.expires);
    await choose('Change');
    await submit('Save', { Expires: '2027-11-07T03:30:00' });
    await expect.poll(() => askAdmin('keys?account=expiring')).toContain('2027-11-07T08:30:00.000Z');
  });

  it('calls a key by its name, above its id', async () => {
    await go('?by=key&show=calls');
    const id = (await rows('Breakdown').getByRole('link').textContent()) ?? '';
    await sendAdmin('PATCH', `keys/${id}`, { name: 'laptop of مريم 🚀' });
    await go('?by=key&show=calls');
    const link = rows('Breakdown').getByRole('link', { name: 'laptop of مريم 🚀', exact: true });
    await link.waitFor();
    expect(await rows('Breakdown').first().textContent()).toContain(id);
    await page.locator('.plot a[aria-label^="laptop of"]').first().waitFor({ state: 'attached' });
    await link.click();
    await expect.poll(() => page.getByLabel('Key', { exact: true }).inputValue()).toBe(id);
    await expect.poll(() => rows('Calls').count()).toBe(1);
  });
});
