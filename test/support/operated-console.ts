/** A gateway with its console, and a browser session of an operator. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { z } from 'zod';
import type { ConfigInput } from '../../core/config.ts';
import { apiKeyHeader } from '../../plugins/auth/api-key-header.ts';
import { admin } from '../../plugins/operations/admin/index.ts';
import { calls } from '../../plugins/operations/calls.ts';
import { catalogue } from '../../plugins/operations/catalogue.ts';
import { webConsole } from '../../plugins/operations/console/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { findAdminUrl } from './admin-url.ts';
import { openBrowser } from './browser.ts';
import { findFreePort } from './free-port.ts';
import { openHarness, type Harness } from './harness.ts';
import { postJson } from './post.ts';

export interface ConsoleHarness {
  readonly harness: Harness;
  /** The address of the admin listener. */
  readonly adminUrl: string;
  /** The operator secret. */
  readonly secret: string;
  /** Signs in without a browser and returns the cookie. */
  signIn(secret?: string): Promise<string>;
  close(): Promise<void>;
}

export async function openConsole(
  options: Parameters<typeof webConsole>[0] = {},
  plugins: ConfigInput['plugins'] = [],
): Promise<ConsoleHarness> {
  const harness = await openHarness({
    // The console says where clients reach the public listener, so it needs a port that is known.
    settings: { server: { port: await findFreePort() } },
    plugins: [
      apiKeyHeader(),
      messages(),
      demo(),
      calls(),
      catalogue(),
      admin({ port: 0 }),
      webConsole(options),
      ...plugins,
    ],
  });
  const adminUrl = findAdminUrl(harness.gateway.printed);
  const secret = readFileSync(join(harness.gateway.dataFolder, 'operator-secret'), 'utf8').trim();
  return {
    harness,
    adminUrl,
    secret,
    async signIn(shown = secret) {
      const response = await postJson(`${adminUrl}/console/session`, { secret: shown }, { origin: adminUrl });
      if (!response.ok) throw new Error(`signing in failed: ${await response.text()}`);
      return response.headers.get('set-cookie')?.split(';')[0] ?? '';
    },
    close: () => harness.close(),
  };
}

const barriersSchema = z.array(z.string());

export interface WatchedPage {
  readonly page: Page;
  /** The browser's errors: violations of the page's policy, and exceptions of its scripts. */
  readonly complaints: readonly string[];
  /** Origins that the page contacted. */
  readonly origins: ReadonlySet<string>;
}

/** Gives a page the date of the tests (`today.js`). Runs in the browser. */
function setClockBack(behind: number): void {
  const now = (): number => RealDate.now() - behind;
  const RealDate = Date;
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, values, called) =>
      Reflect.construct(target, values.length === 0 ? [now()] : values, called),
    get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
  });
}

/** Opens a page with a session and a cache of its own. */
export async function openPage(options: Parameters<Browser['newPage']>[0] = {}): Promise<WatchedPage> {
  const browser = await openBrowser();
  // Colours that fade from one to another would be measured halfway.
  const page = await browser.newPage({ reducedMotion: 'reduce', ...options });
  await page.addInitScript(setClockBack, performance.timeOrigin + performance.now() - Date.now());
  // A slow machine may take long for a page.
  page.setDefaultTimeout(120_000);
  const complaints: string[] = [];
  const origins = new Set<string>();
  page.on('console', (message) => {
    // The browser reports each error reply too, which the page shows to its reader.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      complaints.push(message.text());
  });
  page.on('pageerror', (error) => void complaints.push(String(error)));
  page.on('request', (request) => {
    const { protocol, origin } = new URL(request.url());
    if (protocol.startsWith('http')) origins.add(origin);
  });
  return { page, complaints, origins };
}

/** Opens the console and signs in as a person would. */
export async function signInOn(
  page: Page,
  { adminUrl, secret }: Pick<ConsoleHarness, 'adminUrl' | 'secret'>,
): Promise<void> {
  await page.goto(adminUrl);
  await page.getByLabel('Operator secret or key').fill(secret);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
}

/** Waits in the page itself, which takes less than Playwright's steps. */
export const until = `async (isSo) => {
  for (let left = 12_000; !isSo(); left -= 1) {
    if (left === 0) throw new Error(location.href + ' shows ' + document.body.textContent);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}`;

/** Shows a place of the console with its data. Another place comes first, so nothing old is seen. */
export async function showPlace(page: Page, place: string): Promise<void> {
  const missing = 'Page not found';
  await page.evaluate(`(async () => {
    const until = ${until};
    const isMissing = () => document.body.textContent.includes(${JSON.stringify(missing)});
    location.hash = '/nowhere';
    await until(isMissing);
    location.hash = ${JSON.stringify(`/${place}`)};
    await until(() => !isMissing() && document.querySelector('main h1') !== null);
    await until(() => document.querySelector('[aria-busy=true]') === null);
  })()`);
}

/** Rules whose verdict depends on the theme. */
export const rulesOfColours = ['color-contrast', 'link-in-text-block'];

/** Rows of a table after these look like them: to judge a hundred takes two seconds. */
const otherRows = 'tbody tr:nth-child(n + 30)';

/**
 * Accessibility violations of the page or a part of it, by all rules or by those named: serious findings,
 * each with its place.
 */
export async function findBarriers(
  page: Page,
  part = 'html',
  runOnly?: readonly string[],
): Promise<string[]> {
  // Through the debugger, since the page's policy allows no other script.
  if (!(await page.evaluate("'axe' in globalThis")))
    await page.evaluate(readFileSync(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8'));
  const context = { include: [part], exclude: [otherRows] };
  // Playwright takes long to return all that axe has looked at. No rule needs the style sheets preloaded.
  const options = { resultTypes: ['violations'], preload: false, runOnly };
  return barriersSchema.parse(
    await page.evaluate(`axe.run(${JSON.stringify(context)}, ${JSON.stringify(options)})
      .then(({ violations }) => violations
        .filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html.slice(0, 200))))`),
  );
}
