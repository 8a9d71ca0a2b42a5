import fs, { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it, vi } from 'vitest';
import { createLogger, flushLog } from '../../core/cli/log.ts';
import { makeFolder } from '../support/folder.ts';

const folder = makeFolder();
afterEach(() => vi.restoreAllMocks());

function readLines(file: string): string[] {
  return readFileSync(file, 'utf8').split('\n').slice(0, -1);
}

it('writes lines soon after they were logged, and nothing while there are none', async () => {
  const file = join(folder, 'quiet');
  const logger = createLogger(file);
  const write = vi.spyOn(fs, 'write');
  logger.info('one');
  logger.info('two');
  await expect.poll(() => readLines(file).length).toBe(2);
  expect(write).toHaveBeenCalledTimes(1);
  await sleep(350);
  expect(write).toHaveBeenCalledTimes(1);
  logger.info('three');
  await expect.poll(() => readLines(file).length).toBe(3);
});

it('tries again to write what could not be written', async () => {
  const file = join(folder, 'full');
  const logger = createLogger(file);
  const write = vi.spyOn(fs, 'write').mockImplementation((...args: unknown[]) => {
    const done = args.at(-1);
    if (typeof done === 'function') done(Object.assign(new Error('no space'), { code: 'ENOSPC' }));
  });
  logger.info('kept');
  await expect.poll(() => write.mock.calls.length).toBeGreaterThan(2);
  write.mockRestore();
  await expect.poll(() => readLines(file).length).toBe(1);
  expect(readLines(file)[0]).toContain('kept');
  await flushLog(logger);
});
