import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';

it('the gateway holds at most six times a picture of 20 MB over idle, once it has passed', () => {
  // A separate process: vitest's own memory would hide what the pictures leave.
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(import.meta.dirname, '../support/picture-memory.ts')],
    { encoding: 'utf8' },
  );
  process.stdout.write(stdout);
  expect(stderr).toBe('');
  expect(status).toBe(0);
});
