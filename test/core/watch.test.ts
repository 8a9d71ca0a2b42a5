/** Watched files, on a disk. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, expect, it } from 'vitest';
import { watchFiles } from '../../core/cli/service.ts';
import { waitUntil } from '../support/operated.ts';

const folder = mkdtempSync(join(tmpdir(), 'tollgate-watch-'));
const file = join(folder, 'gateway.config.ts');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('the watch reports a file written after it was read, and not one that is read anyway', async () => {
  writeFileSync(file, 'first');
  let changes = 0;
  const watcher = watchFiles([file], () => (changes += 1), pino({ level: 'silent' }));
  writeFileSync(file, 'the second');
  watcher.noteReading();
  // Several times the quiet period that it waits for.
  await sleep(500);
  expect(changes).toBe(0);
  writeFileSync(file, 'and the third');
  await waitUntil(() => changes === 1);
  watcher.close();
});
