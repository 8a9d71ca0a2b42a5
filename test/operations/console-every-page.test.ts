/** What holds on every page of the console: each button, each field, both themes, and a narrow screen. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { configuration } from '../../plugins/operations/configuration.ts';
import { crossing } from '../../plugins/operations/crossing.ts';
import { generateContent } from '../../plugins/protocols/generate-content/index.ts';
import { images } from '../../plugins/protocols/images/index.ts';
import { responses } from '../../plugins/protocols/responses/index.ts';
import { health } from '../../plugins/routing/health.ts';
import { closePages } from '../support/browser.ts';
import {
  findBarriers,
  openConsole,
  openPage,
  rulesOfColours,
  showPlace,
  signInOn,
  until,
  type ConsoleHarness,
  type WatchedPage,
} from '../support/operated-console.ts';
import { postJson } from '../support/post.ts';
import { hasBrowser, hostile } from './pages.ts';

const places = [
  '',
  '?by=tag',
  '?show=ttft',
  'calls',
  'calls?show=live',
  'sessions',
  'sessions?tag=team',
  'prices',
  'prices?show=markups',
  'activity',
  'activity?show=warnings',
  'activity?show=credits',
  'accounts',
  'accounts?show=keys',
  'accounts?show=operators',
  'accounts?show=budgets',
  'accounts/tester',
  'accounts/tester?show=team',
  'accounts/tester?show=members',
  'accounts/tester?show=statement',
  'accounts/tester?show=usage',
  'models',
  'providers',
  'crossing',
  'crossing?view=capabilities',
  'playground',
  'playground?protocol=images',
  'configuration',
];

const outcomeSchema = z.object({
  opensMenu: z.boolean(),
  opensDialog: z.boolean(),
  /** Of the dialog. */
  title: z.string(),
  hasFailed: z.boolean(),
});
type Outcome = z.output<typeof outcomeSchema>;

describe.runIf(hasBrowser)('every page of the console', () => {
  let open: ConsoleHarness;
  let call: string;
  let watched: WatchedPage;

  beforeAll(async () => {
    open = await openConsole({}, [
      responses(),
      generateContent(),
      images(),
      health(),
      crossing(),
      configuration(),
    ]);
    const post = (url: string, secret: string, body: object): Promise<Response> =>
      postJson(url, body, { authorization: `Bearer ${secret}` });
    const messages = [{ role: 'user', content: 'Hello!' }];
    const reply = await post(`${open.harness.gateway.url}/v1/chat/completions`, open.harness.key, {
      model: 'openai/gpt-4o-mini',
      messages,
    });
    call = reply.headers.get('x-request-id') ?? '';
    await reply.text();
    await post(`${open.adminUrl}/admin/budgets`, open.secret, {
      scope: 'account',
      subject: 'tester',
      per: 'day',
      limit: '2',
    });
    await post(`${open.adminUrl}/admin/operator-keys`, open.secret, { name: 'deputy' });
    watched = await openPage();
    await signInOn(watched.page, open);
  });
  afterAll(async () => {
    await closePages();
    await open.close();
  });

  const listPlaces = (): string[] => [...places, `calls/${call}`];

  async function go(page: Page, place: string): Promise<void> {
    await showPlace(page, place);
    if (place === 'crossing') await page.locator('.crossings').waitFor();
    if (place === `calls/${call}`) await page.locator('.columns').waitFor();
  }

  /** Shows each page in turn. */
  async function visit(look: (page: Page, place: string) => Promise<unknown>): Promise<void> {
    for (const place of listPlaces()) {
      await go(watched.page, place);
      await look(watched.page, place);
    }
    expect(watched.complaints).toEqual([]);
    expect([...watched.origins]).toEqual([open.adminUrl]);
  }

  const drawn = 'new Promise((done) => requestAnimationFrame(() => setTimeout(done)))';

  it('is accessible, fits and shows no secret in both themes, on a wide and a narrow screen', async () => {
    const held = [open.secret, open.harness.key, open.harness.vendor.key];
    const excess = 'Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth)';
    await visit(async (page, place) => {
      for (const [colorScheme, width, rules] of [
        ['light', 1280, undefined],
        ['dark', 1280, rulesOfColours],
        ['dark', 390, undefined],
        ['light', 390, rulesOfColours],
        ['light', 320, []],
      ] as const) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: 800 });
        await page.evaluate(drawn);
        expect([place, width, await page.evaluate(excess)]).toEqual([place, width, 0]);
        if (rules?.length !== 0)
          expect([place, await findBarriers(page, 'html', rules)]).toEqual([place, []]);
      }
      const text = await page.content();
      expect([place, held.filter((each) => text.includes(each))]).toEqual([place, []]);
    });
    expect(held.filter((each) => open.harness.gateway.log.join('').includes(each))).toEqual([]);
  });

  const dialog = (page: Page) => page.locator('dialog[open]');
  /** Of tables the first row is enough. */
  const buttons = 'main button:enabled:not(tbody tr:nth-child(n + 2) *)';

  async function closeDialogs(page: Page): Promise<void> {
    if ((await dialog(page).count()) > 0) await page.keyboard.press('Escape');
    await expect.poll(() => dialog(page).count()).toBe(0);
  }

  // The next three run in the page itself: a click of Playwright's takes three times the processor time.

  /** Clicks a button, which nothing may cover. */
  const click = `(button) => {
    button.scrollIntoView({ block: 'center', inline: 'center' });
    const { x, y, width, height } = button.getBoundingClientRect();
    const top = document.elementFromPoint(x + width / 2, y + height / 2);
    if (!button.contains(top)) throw new Error('covered by ' + top?.outerHTML + ': ' + button.outerHTML);
    button.click();
  }`;

  /** Types hostile text into each text field of a part of the page. */
  const fillAll = `async (part) => {
    const others = '[type=number], [type=date], [type=datetime-local], [type=checkbox], [type=file]';
    const texts = () => [...document.querySelectorAll(part + ' :is(input:not(' + others + '), textarea)')]
      .filter((each) => each.checkVisibility({ visibilityProperty: true }));
    for (let index = 0; index < texts().length; index += 1) {
      const field = texts()[index];
      field.focus();
      field.select();
      document.execCommand('insertText', false, ${JSON.stringify(hostile)});
      field.blur();
      await ${drawn};
    }
  }`;

  type Opened = (title: string) => Promise<void>;

  const outcome = `({
    opensMenu: document.querySelector('.menu:popover-open') !== null,
    opensDialog: document.querySelector('dialog[open]') !== null,
    title: document.querySelector('dialog[open] h2')?.textContent ?? '',
    hasFailed: document.body.textContent.includes('This page failed'),
  })`;

  /** Clicks the first button whose name is not in the list, and adds it. */
  async function clickNext(page: Page, clicked: string[]): Promise<Outcome | undefined> {
    const result = await page.evaluate(`(async () => {
      // Without the arrow of a sorted column.
      const nameOf = (each) =>
        [each.closest('[role=region]')?.ariaLabel, each.ariaLabel ?? each.textContent].join(': ')
          .replace(/ [↑↓]$/, '');
      const button = [...document.querySelectorAll(${JSON.stringify(buttons)})].find((each) =>
        each.checkVisibility({ visibilityProperty: true }) &&
        !${JSON.stringify(clicked)}.includes(nameOf(each)));
      if (!button) return undefined;
      const name = nameOf(button);
      (${click})(button);
      await ${drawn};
      return { name, ...${outcome} };
    })()`);
    if (result === undefined) return undefined;
    const { name, ...now } = outcomeSchema.extend({ name: z.string() }).parse(result);
    clicked.push(name);
    return now;
  }

  async function endClick(page: Page, place: string, now: Outcome, opened: Opened): Promise<void> {
    expect([place, now.hasFailed]).toEqual([place, false]);
    if (now.title !== '') await opened(now.title);
    if (now.opensDialog) await closeDialogs(page);
  }

  /** Makes each choice of the menu that a button has opened. */
  async function pressMenu(page: Page, place: string, opened: Opened): Promise<number> {
    const menu = page.locator('.menu:popover-open');
    const id = await menu.getAttribute('id');
    const titles = await menu.locator('button').allTextContents();
    await opened(`Menu of ${titles.join(', ')}`);
    for (const name of titles) {
      const now = await page.evaluate(`(async () => {
        const menu = document.getElementById(${JSON.stringify(id)});
        if (!menu.matches(':popover-open'))
          (${click})(document.querySelector('[popovertarget="' + menu.id + '"]'));
        (${click})([...menu.querySelectorAll('button')]
          .find((each) => each.textContent === ${JSON.stringify(name)}));
        await ${drawn};
        return ${outcome};
      })()`);
      await endClick(page, place, outcomeSchema.parse(now), opened);
    }
    return titles.length;
  }

  /**
   * Clicks each button in turn, but for those clicked on another tab of the page. It passes on what opens a
   * dialog with its title.
   */
  async function press(page: Page, place: string, clicked: string[], opened: Opened): Promise<number> {
    let choices = 0;
    const before = clicked.length;
    for (;;) {
      const now = await clickNext(page, clicked);
      if (!now) return clicked.length - before + choices;
      if (now.opensMenu) choices += await pressMenu(page, place, opened);
      else await endClick(page, place, now, opened);
      if (!page.url().endsWith(`#/${place}`)) await go(page, place);
    }
  }

  /** Fills and sends a dialog: it shows what is wrong, closes, or shows what was made. */
  async function sendHostile(page: Page, title: string): Promise<void> {
    await page.evaluate(`(async () => {
      const submit = [...document.querySelectorAll('dialog[open] form button')].at(-1);
      if (!submit) return;
      await (${fillAll})('dialog[open]');
      (${click})(submit);
      await (${until})(() =>
        document.querySelector('dialog[open] :is(.fault:not(:empty), :invalid)') !== null ||
        document.querySelector('dialog[open] h2')?.textContent !== ${JSON.stringify(title)});
    })()`);
  }

  it('answers each click, has accessible dialogs, and shows 20 kB of hostile text as text', async () => {
    expect(hostile.length).toBeGreaterThan(20_000);
    const seen = new Set<string>();
    const clicked: Record<string, string[]> = {};
    let clicks = 0;
    // Chromium draws each click's page in software: a small one takes a quarter less time.
    await watched.page.setViewportSize({ width: 1000, height: 500 });
    await visit(async (page, place) => {
      await page.evaluate(`(${fillAll})('main')`);
      await go(page, place);
      const [path = ''] = place.split('?');
      clicks += await press(page, place, (clicked[path] ??= []), async (title) => {
        if (seen.has(title)) return;
        seen.add(title);
        // The page around it is checked by itself.
        const isMenu = title.startsWith('Menu');
        const part = isMenu ? '.menu:popover-open' : 'dialog[open]';
        expect([place, title, await findBarriers(page, part)]).toEqual([place, title, []]);
        if (!isMenu) await sendHostile(page, title);
      });
      expect([place, await page.evaluate('globalThis.hacked')]).toEqual([place, undefined]);
      expect([place, await page.locator('img').count()]).toEqual([place, 0]);
    });
    expect(clicks).toBeGreaterThan(100);
    const titles = [...seen].toSorted();
    for (const start of ['Create an account', 'Create a key', 'Rotate', 'Delete the key', 'Pause', 'Refund'])
      expect(titles.filter((title) => title.startsWith(start))).not.toEqual([]);
  });
});
