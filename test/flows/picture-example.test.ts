/** The example that makes a picture, and the commands of the README, as a newcomer runs them. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { decode } from 'fast-png';
import { beforeAll, expect, it } from 'vitest';
import { makeFolder } from '../support/folder.ts';
import { makeDataFolder, startProcess, type RunningGateway } from '../support/process.ts';

const root = join(import.meta.dirname, '../..');
const run = promisify(execFile);
const folder = makeFolder();
const data = makeDataFolder();
let gateway: RunningGateway;
let environment: NodeJS.ProcessEnv = {};
beforeAll(async () => {
  gateway = await startProcess({ TOLLGATE_DATA: data });
  const key = /sk-[\w-]+/.exec(gateway.printed())?.[0] ?? '';
  environment = { ...process.env, KEY: key, TOLLGATE_URL: gateway.url };
});

it('the example saves a real picture of the requested size, and another after the edit', async () => {
  const { stdout } = await run(
    process.execPath,
    [join(root, 'examples/picture.ts'), 'A lighthouse', 'lighthouse.png'],
    { cwd: folder, env: environment },
  );
  expect(stdout).toBe('saved lighthouse.png\nsaved lighthouse-at-night.png\n');
  const [made, changed] = ['lighthouse.png', 'lighthouse-at-night.png'].map((name) =>
    decode(readFileSync(join(folder, name))),
  );
  expect(made).toMatchObject({ width: 1024, height: 1024, channels: 1, depth: 8 });
  expect(made?.palette).not.toEqual(changed?.palette);
});
