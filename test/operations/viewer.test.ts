/**
 * The API viewer in a real browser: it reads the page, opens a call, types a key in and makes the call.
 * Without a browser that part is skipped, except in CI, which installs one.
 */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openapi } from '../../plugins/operations/openapi.ts';
import { closePages, hasBrowser, openBrowser } from '../support/browser.ts';
import { openHarness, type Harness } from '../support/harness.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await openHarness({ plugins: [openapi()] });
});

it('the viewer loads everything it needs from the gateway alone', async () => {
  const page = await fetch(`${harness.gateway.url}/docs`);
  const html = await page.text();
  const files = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file]) => file ?? '');
  expect(files.length).toBeGreaterThan(2);
  for (const file of files) {
    const address = new URL(file, page.url);
    expect(address.origin).toBe(harness.gateway.url);
    expect([file, (await fetch(address)).status]).toEqual([file, 200]);
  }
});

it('the viewer forbids everything else, and inline scripts and styles', async () => {
  const { headers } = await fetch(`${harness.gateway.url}/docs`);
  const policy = headers.get('content-security-policy') ?? '';
  expect(policy).toContain("default-src 'none'");
  expect(policy).not.toMatch(/unsafe|https?:|\*/);
  expect(headers.get('x-content-type-options')).toBe('nosniff');
});

it.each(['docs/package.json', 'docs/..%2f..%2fpackage.json', 'docs/swagger-ui.js.map', 'docs/constructor'])(
  'the viewer serves no file but its own: %s',
  async (file) => {
    const response = await fetch(`${harness.gateway.url}/${file}`);
    expect(response.status).toBe(404);
  },
);

describe.runIf(hasBrowser)(
  'the viewer in a browser (chromium, or the one that TOLLGATE_BROWSER names)',
  () => {
    let page: Page;
    /** The browser's errors, and the hosts it contacted. */
    const complaints: string[] = [];
    const requests: string[] = [];

    beforeAll(async () => {
      page = await (await openBrowser()).newPage();
      page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())));
      page.on('pageerror', (error) => void complaints.push(String(error)));
      page.on('request', (request) => void requests.push(new URL(request.url()).origin));
      await page.goto(`${harness.gateway.url}/docs`);
    });
    afterAll(closePages);

    it('shows every call', async () => {
      await page.locator('.opblock-summary-path').first().waitFor({ timeout: 120_000 });
      const shown = await page.locator('.opblock-summary-path').allTextContents();
      const sent: unknown = await (await fetch(`${harness.gateway.url}/openapi.json`)).json();
      const paths =
        typeof sent === 'object' && sent && 'paths' in sent && typeof sent.paths === 'object'
          ? Object.keys(sent.paths ?? {})
          : [];
      expect(paths).toContain('/v1/chat/completions');
      const plain = shown.map((text) => text.replaceAll('\u200b', ''));
      expect(paths.filter((path) => !plain.includes(path))).toEqual([]);
    });

    it('makes a call with the key that was typed in', async () => {
      await page.locator('button.authorize').first().click();
      await page.locator('.auth-container input').first().fill(harness.key);
      await page.locator('.auth-container button[type=submit]').first().click();
      await page.locator('.modal-ux .btn-done').first().click();
      const call = page.locator('#operations-chat-completions-chat-completions-POST-v1-chat-completions');
      await call.locator('.opblock-summary').click();
      await call.locator('.try-out__btn').click();
      await call
        .locator('textarea')
        .first()
        .fill(
          JSON.stringify({ model: 'openai/gpt-4o-mini', messages: [{ role: 'user', content: 'Hello!' }] }),
        );
      await call.locator('button.execute').click();
      const reply = call.locator('.live-responses-table .response .microlight').first();
      await reply.waitFor({ timeout: 120_000 });
      expect(await reply.textContent()).toContain('chat.completion');
    });

    it('violates no rule of its content security policy and contacts no other host', () => {
      expect(complaints).toEqual([]);
      expect([...new Set(requests)].filter((origin) => origin !== 'null')).toEqual([harness.gateway.url]);
    });
  },
);
