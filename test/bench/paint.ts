/**
 * When a browser first shows something of the console, and when the largest part of it: with an empty cache
 * and with a full one, of a gateway that runs already. Medians of some visits.
 *
 * node --conditions=tollgate-source test/bench/paint.ts      PAINT_ROUNDS=9
 */
import type { BrowserContext } from 'playwright-core';
import { openBrowser } from '../support/browser.ts';
import { openConsole, signInOn } from '../support/operated-console.ts';
import { computeMedian } from './statistics.ts';

const rounds = Number(process.env.PAINT_ROUNDS ?? 9);
const open = await openConsole();
const browser = await openBrowser();

/** Milliseconds to the first and to the largest paint. */
async function visit(context: BrowserContext, url: string): Promise<[first: number, largest: number]> {
  const page = await context.newPage();
  await page.goto(url, { waitUntil: 'networkidle' });
  const times: unknown = await page.evaluate(`new Promise((done) => {
    const [first] = performance.getEntriesByName('first-contentful-paint');
    new PerformanceObserver((list) => done([first.startTime, list.getEntries().at(-1).startTime]))
      .observe({ type: 'largest-contentful-paint', buffered: true });
  })`);
  await page.close();
  const [first, largest] = Array.isArray(times) ? times.map(Number) : [];
  return [first ?? Number.NaN, largest ?? Number.NaN];
}

async function report(name: string, url: string, isSignedIn = false): Promise<void> {
  const cold: [number, number][] = [];
  const warm: [number, number][] = [];
  for (let round = 0; round < rounds; round += 1) {
    const context = await browser.newContext();
    if (isSignedIn) {
      const [cookieName = '', value = ''] = (await open.signIn()).split('=');
      await context.addCookies([{ name: cookieName, value, url: open.adminUrl }]);
    }
    cold.push(await visit(context, url));
    warm.push(await visit(context, url));
    await context.close();
  }
  for (const [cache, times] of [
    ['empty', cold],
    ['full', warm],
  ] as const) {
    const [first, largest] = [0, 1].map((at) =>
      Math.round(computeMedian(times.map((time) => time[at] ?? 0))),
    );
    console.log(`${name}, ${cache} cache: first paint ${first} ms, largest paint ${largest} ms`);
  }
}

const began = performance.now();
await (await fetch(open.adminUrl)).text();
console.log(`first document after the start: ${Math.round(performance.now() - began)} ms`);
const page = await browser.newPage();
await signInOn(page, open);
await page.close();
await report('sign-in page', open.adminUrl);
await report('overview', open.adminUrl, true);
await report('page of key holders', open.harness.gateway.url);
await open.close();
process.exit(0);
