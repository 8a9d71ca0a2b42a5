/** The shell commands in the READMEs do what the READMEs say. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { openPasting, type Pasting } from '../support/paste.ts';
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
let pasting: Pasting;
beforeAll(async () => {
  gateway = await startProcess(settings);
  const TOLLGATE_CONFIG = join(root, 'gateway.config.ts');
  pasting = await openPasting(gateway, { TOLLGATE_CONFIG, ...settings });
});

/**
 * Runs the one block that has these words, and answers all it printed. The date of the tests, the key and the
 * answer to what a command asks are put in place.
 */
async function paste(words: string): Promise<string> {
  const found = blocks.filter((block) => block.includes(words));
  expect(found).toHaveLength(1);
  const lines = (found[0] ?? '')
    .replaceAll('npx node', 'node')
    .replace(/-- restore .*/, '$& --yes')
    .replaceAll('$(date +%s)', String(Math.floor(Date.now() / 1000)))
    .replace(/^export KEY=.*$/m, '');
  return pasting.paste(lines, folder);
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
