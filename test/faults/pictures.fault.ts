import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';

it('holds at most six times a picture of 20 MB over idle, once it has passed', () => {
  // A process of its own: what vitest holds is not to be told from what the pictures leave.
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(import.meta.dirname, '../support/picture-memory.ts')],
    { encoding: 'utf8' },
  );
  process.stdout.write(stdout);
  expect(stderr).toBe('');
  expect(status).toBe(0);
});
