/** The end of the holidays that price rules know: what is charged after it, and who warns before it. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, expect, it, vi } from 'vitest';
import { PriceSchedule } from '../../core/price-schedule.ts';
import { catalogue } from '../../plugins/operations/catalogue.ts';
import { findHolidayEnds } from '../../plugins/operations/catalogue/price-dates.ts';
import { readCatalogue } from '../../plugins/shared/provider/catalogue-file.ts';
import { createHost, type TestHost } from '../support/host.ts';

const models = readCatalogue(
  pathToFileURL(join(import.meta.dirname, '../../plugins/providers/catalogue/deepseek.json')),
);

function open(): TestHost {
  const host = createHost([catalogue()]);
  const provider = { name: 'deepseek', endpoints: {}, sign: (request: never): never => request };
  host.catalog.offer(provider, models);
  return host;
}

async function listFindings({ examinations }: TestHost): Promise<unknown> {
  const all = (await Promise.all([...examinations.list()].map(({ examine }) => examine()))).flat();
  return all.filter(({ message }) => message.includes('holidays'));
}

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

it('a holiday that no list has yet costs the dearer rate, for the reservation too', () => {
  const price = models.find(({ id }) => id === 'deepseek/deepseek-flash')?.price;
  const schedule = new PriceSchedule(price?.rules ?? [], 3_600_000);
  const findRules = (text: string) => {
    const at = Date.parse(text);
    return [schedule.findRule(at), schedule.listPossibleRules(at)];
  };
  // A Thursday in a known week of holidays, the first day of 2027, and a Monday of the Spring Festival after.
  expect(findRules('2026-10-01T10:00+08:00')).toEqual([undefined, [undefined]]);
  expect(findRules('2027-01-01T10:00+08:00')).toEqual([undefined, [undefined]]);
  expect(findRules('2027-02-08T10:00+08:00')).toEqual(['peak', ['peak']]);
});

it.each([
  ['2026-11-23T12:00Z', 38, false],
  ['2026-12-02T00:00Z', 30, false],
  ['2026-12-03T00:00Z', 29, true],
  ['2027-03-01T12:00Z', -60, true],
])('the gateway warns at %s, %i days before holidays end: %s', async (now, days, isSoon) => {
  vi.useFakeTimers({ now: Date.parse(now), toFake: ['Date'] });
  const host = open();
  expect(findHolidayEnds(host.catalog, Date.now())).toEqual([
    { provider: 'deepseek', through: '2026-12-31', days },
  ]);
  const warn = vi.spyOn(host.logger, 'warn');
  await host.calls.ready.promise();
  const warned = warn.mock.calls.filter(([, text]) => String(text).includes('holidays'));
  expect(warned.map(([facts]) => facts)).toEqual(
    isSoon ? [{ provider: 'deepseek', through: '2026-12-31', days }] : [],
  );
  expect(await listFindings(host)).toEqual(
    isSoon
      ? [
          expect.objectContaining({
            subject: 'prices',
            state: 'note',
            message: expect.stringContaining('deepseek on 2026-12-31'),
          }),
        ]
      : [],
  );
  expect(await host.metrics.metrics()).toContain(
    `tollgate_price_holidays_days{provider="deepseek"} ${days}\n`,
  );
});
