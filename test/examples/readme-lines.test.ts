/** The shell commands in the READMEs do what the READMEs say. */
import { execFile } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { findAdminUrl } from '../support/admin-url.ts';
import { makeDataFolder, runVerb, startProcess, type RunningGateway } from '../support/process.ts';
import { allReadmes } from '../support/readmes.ts';

const root = join(import.meta.dirname, '../..');
const blocks = Array.from(allReadmes.matchAll(/^```sh\n(.*?)^```$/gms), ([, block = '']) => block);
const folder = makeDataFolder();
const settings = {
  TOLLGATE_DATA: join(folder, 'data'),
  TOLLGATE_TOP_UP_SECRET: 'a secret of some thirty-odd characters',
};

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await startProcess(settings);
});
afterAll(async () => {
  await gateway.stop('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

/**
 * Runs the one block that has these words, and answers all it printed. Four things are put in place: the
 * ports, the project's own command, the date of the tests, and the answer to what a command asks.
 */
async function paste(words: string): Promise<string> {
  const found = blocks.filter((block) => block.includes(words));
  expect(found).toHaveLength(1);
  const port = Number(new URL(gateway.url).port);
  const admin = findAdminUrl(gateway.printed());
  const lines = (found[0] ?? '')
    .replaceAll('127.0.0.1:8787', `127.0.0.1:${port}`)
    .replaceAll('http://127.0.0.1:8788', admin)
    .replaceAll('npm run --silent tollgate --', `node ${join(root, 'core/cli.js')}`)
    .replaceAll('npx node', 'node')
    .replace(/cli\.js restore .*/, '$& --yes')
    .replaceAll('$(date +%s)', String(Math.floor(Date.now() / 1000)))
    .replace(/^export KEY=.*$/m, '');
  const { HOME = '', PATH = '' } = process.env;
  const KEY = /export KEY=(\S+)/.exec(gateway.printed())?.[1] ?? '';
  const environment = {
    HOME,
    KEY,
    PATH: `${dirname(process.execPath)}:${PATH}`,
    TOLLGATE_CONFIG: join(root, 'gateway.config.ts'),
    PORT: String(port),
    ...settings,
  };
  const { stdout } = await promisify(execFile)('bash', ['-e', '-o', 'pipefail', '-c', lines], {
    cwd: folder,
    env: environment,
  });
  return stdout;
}

it.each<[string, string, readonly RegExp[]]>([
  [
    'the first ones call a model, and show the balance and the models',
    'export KEY=',
    [/Tollgate's demo model/, /"currency":"USD"/, /"id":"demo\/echo"/],
  ],
  [
    'all families call it',
    '/v1/responses -H',
    [/"object":"response"/, /"type":"message"/, /"finishReason":"STOP"/],
  ],
  [
    'a call is looked up by the id it was given',
    'head.txt',
    [/"object":"chat.completion"/, /"attempts":\[\{[^\]]*"demo"/],
  ],
  [
    'the command line makes keys, tells usage and looks at everything',
    'tollgate -- doctor',
    [
      /"key":"sk-/,
      /^Save this key now/m,
      /^key,model,day,/m,
      /a gateway answers at/,
      /The gateway can serve/,
    ],
  ],
  ['the admin listener accepts its secret', '$(cat data/operator-secret)', [/"account":"acme"/]],
  ['a signed top-up is credited', 'tollgate-signature', [/"status":"credited"/]],
])('the commands of the README work as it says: %s', async (_, words, shown) => {
  const printed = await paste(words);
  for (const part of shown) expect(printed).toMatch(part);
});

it('a picture is made, and changed', async () => {
  await paste('lighthouse.png');
  for (const file of ['lighthouse.png', 'night.png'])
    expect(readFileSync(join(folder, file)).subarray(1, 4).toString()).toBe('PNG');
});

// The last one, since the gateway is stopped.
it('a ledger is backed up while it is in use, and put back', async () => {
  const readCredit = async (): Promise<unknown> =>
    JSON.parse((await runVerb(['balance', 'default', '--json'], settings)).output);
  const before = await readCredit();
  expect(await paste('-- backup')).toContain('the books are sound');
  expect((await runVerb(['credit', 'add', 'default', '7'], settings)).code).toBe(0);
  expect(await readCredit()).not.toEqual(before);
  await gateway.stop('SIGTERM');
  expect(await paste('-- restore')).toContain('The books are sound');
  expect(await readCredit()).toEqual(before);
});
