/**
 * The image without an engine: `npm run image` follows the Dockerfile in a root file system of its own, and
 * runs the result with the rights and the mounts that engines and Kubernetes give it.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { onLinux } from '../support/available.ts';

const run = promisify(execFile);

const seenSchema = z.strictObject({
  users: z.string(),
  innerPid: z.string(),
  written: z.array(z.string()),
  healthy: z.int(),
  unhealthy: z.int(),
  clouds: z.int(),
  verb: z.int(),
  volume: z.array(z.string()),
  code: z.int().nullable(),
  printed: z.string(),
  kept: z.int(),
});
let seen: z.output<typeof seenSchema>;

/** Only root mounts; who is not root here may become it by `sudo`, as on the machines of GitHub. */
const become = process.getuid?.() === 0 ? [] : ['sudo', '--non-interactive'];

beforeAll(async () => {
  if (!onLinux) return;
  const script = join(import.meta.dirname, '../support/run-image.ts');
  const [program = '', ...words] = [...become, process.execPath, script];
  seen = seenSchema.parse(JSON.parse((await run(program, words)).stdout));
});

it.runIf(onLinux)('the gateway of the image is process 1, and nobody but the user of the image', () => {
  expect([seen.innerPid, seen.users]).toEqual(['1', '1000\t1000\t1000\t1000']);
});

it.runIf(onLinux)(
  'the gateway serves with a root that is read-only, and keeps its data in the volume',
  () => {
    expect(seen.written).toEqual(['/data', '/tmp']);
    expect(seen.volume).toEqual(expect.arrayContaining(['data-key', 'ledger.db', 'operator-secret']));
    expect(seen.printed).not.toMatch(/error/i);
  },
);

it.runIf(onLinux)('the health check of the image tells a gateway that answers from one that does not', () => {
  expect([seen.healthy, seen.unhealthy]).toEqual([0, 1]);
});

it.runIf(onLinux)(
  'the image has the packages with which clouds sign, and runs commands beside the gateway',
  () => {
    expect([seen.clouds, seen.verb]).toEqual([0, 0]);
  },
);

it.runIf(onLinux)('the gateway of the image stops by SIGTERM', () => {
  expect(seen.code).toBe(0);
  expect(seen.printed).toContain('Stopping: calls that run may finish.');
});

it.runIf(onLinux)(
  'the image keeps what Node compiles of its sources, though its user may write nowhere',
  () => {
    expect(seen.kept).toBeGreaterThan(500);
  },
);
