/**
 * A real browser for tests: Debian's Chromium, or the one that TOLLGATE_BROWSER names. Its shell without
 * windows comes first: it takes 13 % less processor time for all pages, and half for a new one.
 */
import { existsSync } from 'node:fs';
import { chromium, type Browser } from 'playwright-core';
import { checkAvailable } from './available.ts';

const known = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];
const executable = process.env.TOLLGATE_BROWSER ?? known.find((path) => existsSync(path));

export const hasBrowser = checkAvailable(
  executable !== undefined && existsSync(executable),
  'Chromium (install it, or name a browser in TOLLGATE_BROWSER)',
);

/**
 * What no test looks at. For each window Chromium would start a process that draws the address bar's pop-up,
 * at four times the cost of a page. This list replaces Playwright's, so it names what matters of that.
 */
const without = [
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
  'WebUIOmniboxFullPopup',
  'AimEnabled',
  'HttpsUpgrades',
  'MediaRouter',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  'PaintHolding',
];

let launched: Promise<Browser> | undefined;

/**
 * The browser of this process. It starts when it is first needed, which takes two seconds of processor time,
 * and serves all test files of the worker. It ends with the process, even a killed one, since Chromium exits
 * when its debugging pipe closes.
 */
export function openBrowser(): Promise<Browser> {
  launched ??= chromium.launch({
    executablePath: executable ?? '',
    // Chromium cannot use its sandbox if the test runs as root, as in a container.
    args: ['--no-sandbox', '--disable-quic', '--disable-sync', `--disable-features=${without.join(',')}`],
  });
  return launched;
}

/** Closes all pages of this process, with their sessions and caches. */
export async function closePages(): Promise<void> {
  const browser = await launched;
  await Promise.all((browser?.contexts() ?? []).map((context) => context.close()));
}
