import { expect, test } from 'vitest';
import { keep } from '../../plugins/operations/console/keep.ts';

test('what the console loads is loaded once, however many ask for it at a time', async () => {
  const kept = new Map<string, Promise<number>>();
  let loads = 0;
  const load = async (): Promise<number> => ++loads;
  expect(await Promise.all([keep(kept, 'page', load), keep(kept, 'page', load)])).toEqual([1, 1]);
  expect(await keep(kept, 'page', load)).toBe(1);
});

test('what failed to load is loaded again for the next request', async () => {
  const kept = new Map<string, Promise<string>>();
  const fault = new Error('too many open files');
  await expect(keep(kept, 'page', () => Promise.reject(fault))).rejects.toBe(fault);
  expect(await keep(kept, 'page', async () => 'the page')).toBe('the page');
});
