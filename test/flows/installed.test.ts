/** A start after an install: npm has run one before, so that nothing is left to be made of the sources. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeDataFolder, startProcess } from '../support/process.ts';

const cache = mkdtempSync(join(tmpdir(), 'tollgate-cache-'));
const { PATH = '', HOME = '' } = process.env;

beforeAll(async () => {
  const prepare = join(import.meta.dirname, '../../core/prepare.js');
  await promisify(execFile)(process.execPath, [prepare], { cwd: join(import.meta.dirname, '../..'), env: { PATH, HOME, NODE_COMPILE_CACHE: cache } });
});
afterAll(() => rmSync(cache, { recursive: true, force: true }));

describe('the first start after an install', () => {
  it('strips no types and compiles no file', async () => {
    const gateway = await startProcess({ TOLLGATE_DATA: makeDataFolder(), NODE_COMPILE_CACHE: cache, NODE_DEBUG_NATIVE: 'COMPILE_CACHE' });
    const { output, errors } = await gateway.stop('SIGTERM');
    const told = output + errors;
    expect(told.match(/was accepted/g)?.length).toBeGreaterThan(300);
    expect(told).toContain('plugins/meters/balance/sqlite/worker.ts');
    expect(told).not.toMatch(/saving transpilation|was (rejected|not initialized)/);
  });
});
