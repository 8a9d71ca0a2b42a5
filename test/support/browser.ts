/** A real browser for tests: Debian's Chromium, or the one that TOLLGATE_BROWSER names. */
import { existsSync } from 'node:fs';
import { chromium, type Browser } from 'playwright-core';

const known = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];
const executable = process.env.TOLLGATE_BROWSER ?? known.find((path) => existsSync(path));

export const isBrowserPresent = executable !== undefined && existsSync(executable);
export const missingBrowser = 'Chromium (install it, or name a browser in TOLLGATE_BROWSER)';

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

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: executable ?? '',
    // Chromium cannot use its sandbox if the test runs as root, as in a container.
    args: ['--no-sandbox', '--disable-quic', '--disable-sync', `--disable-features=${without.join(',')}`],
  });
}
