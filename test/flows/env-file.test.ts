/** A file `.env` beside the configuration: who reads it, when, and what is wrong with its lines. */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { loadEnvFile } from '../../core/cli/load-config.ts';
import { waitUntil } from '../support/operated.ts';
import { clone, makeDataFolder, runVerb, startProcess } from '../support/process.ts';

const folder = makeDataFolder();
const config = join(folder, 'gateway.config.ts');
const envFile = join(folder, '.env');
const copy = { entry: clone.entry, folder };

/** A gateway of two workers that shows its variables, and which worker answers. */
function writeConfig(comment = ''): void {
  writeFileSync(
    config,
    `// ${comment}
     import { definePlugin } from 'tollgate';
     import { balance } from 'tollgate/plugins/meters/balance';
     import { demo } from 'tollgate/plugins/providers/demo';
     const shown = definePlugin({
       name: 'shown',
       apply({ routes }) {
         const { FROM_FILE, FROM_SHELL } = process.env;
         routes.add({
           name: 'shown', method: 'GET', path: '/shown', access: 'public',
           encodeError: () => ({ status: 500, body: 'no' }),
           handle: async () => ({ status: 200, body: [process.pid, FROM_FILE, FROM_SHELL] }),
         });
       },
     });
     export default {
       server: { port: Number(process.env.PORT ?? 0), workers: 2 },
       dataFolder: process.env.TOLLGATE_DATA,
       plugins: [shown(), demo(), balance()],
     };`,
  );
}

it('reaches all workers at the start, loses to the environment, and waits for a restart', async () => {
  writeConfig();
  writeFileSync(envFile, `FROM_FILE=1\nFROM_SHELL=file\nTOLLGATE_DATA=${folder}/data\nTOLLGATE_LOG=loud\n`);
  const gateway = await startProcess({ FROM_SHELL: 'shell' }, copy);
  const shownSchema = z.tuple([z.number(), z.string(), z.string()]);
  const readShown = async () => {
    const response = await fetch(`${gateway.url}/shown`, { headers: { connection: 'close' } });
    return shownSchema.parse(await response.json());
  };
  const workers = new Set<number>();
  async function expectShown(isSeen: () => boolean): Promise<void> {
    await waitUntil(async () => {
      // A worker that was killed resets its connections.
      const [worker, ...values] = await readShown().catch(() => []);
      if (worker === undefined) return false;
      workers.add(worker);
      expect(values).toEqual(['1', 'shell']);
      return isSeen();
    });
  }
  await expectShown(() => workers.size === 2);
  expect(gateway.printed()).toContain('TOLLGATE_LOG is \\"loud\\"');
  // A reload, and a worker that starts later, still have the variables of the start.
  writeFileSync(envFile, 'FROM_FILE=2\n');
  writeConfig('changed');
  await waitUntil(() => gateway.printed().split('the configuration was read again').length > 2);
  const [first] = workers;
  if (first !== undefined) process.kill(first, 'SIGKILL');
  await expectShown(() => workers.size === 3);
  expect((await gateway.stop('SIGTERM')).code).toBe(0);
});

it('is read by every verb', async () => {
  writeConfig();
  const data = join(folder, 'books');
  writeFileSync(envFile, `TOLLGATE_DATA=${data}\nOPENAI_API_KEY=sk-of-a-file\n`);
  expect((await runVerb(['keys', 'create', '--credit', '1'], {}, copy)).code).toBe(0);
  expect(existsSync(join(data, 'ledger.db'))).toBe(true);
  const init = await runVerb(['init', '--json'], { TOLLGATE_CONFIG: join(folder, 'new.config.ts') }, copy);
  expect(JSON.parse(init.output)).toMatchObject({ on: expect.arrayContaining(['openai']) });
});

it.each([
  ['OPENAI_API_KEY', 1],
  ['A=1\n\n# a comment\nsecret words\nB=2', 4],
  ['A=1\nB="secret\nC=3', 2],
  ['A=secret#1', 1],
  ['A=#secret', 1],
  ['A="1" secret', 1],
  ['A="1\n2"\nmy secret=1', 3],
  ['=secret', 1],
  ['1A=secret', 1],
  ['TOLLGATE_CONFIG=secret.config.ts', undefined],
])(
  'a line that would be cut short is an error of all verbs, which shows no secret, and help works: %j',
  async (text, line) => {
    writeConfig();
    writeFileSync(envFile, text);
    const fault =
      line === undefined
        ? `${envFile}: TOLLGATE_CONFIG says where this file is: set it in the environment, before the start`
        : `${envFile}: line ${line} has to be a comment, or NAME=value; ` +
          'a value with a # or a quote in it is put between other quotes';
    for (const words of [['start'], ['check'], ['doctor'], ['init'], ['keys', 'list']])
      expect(await runVerb(words, {}, copy)).toMatchObject({ code: 1, errors: `tollgate: ${fault}\n` });
    const checked = await runVerb(['check', '--json'], {}, copy);
    expect(JSON.parse(checked.output)).toEqual({ ok: false, fault });
    expect(await runVerb(['--help'], {}, copy)).toMatchObject({
      code: 0,
      output: expect.stringContaining(fault.slice(0, envFile.length)),
    });
  },
);

describe('a file of variables', () => {
  const before = { ...process.env };
  afterEach(() => {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
  });

  it.each([
    ['A1=x\nB1=y', { A1: 'x', B1: 'y' }],
    ['\uFEFFA1=x\r\nB1=y\r\n', { A1: 'x', B1: 'y' }],
    ['export A1 = x y  # a comment\n  # another\n\t\nB1=', { A1: 'x y', B1: '' }],
    [
      `A1="it's #1" # a comment\nB1='two\n"lines"'\nC1=\`"'\``,
      { A1: "it's #1", B1: 'two\n"lines"', C1: `"'` },
    ],
    [
      `A1={"a":"it's"}\nB1=postgres://u:p@h:1/n?x=1&y=2`,
      { A1: `{"a":"it's"}`, B1: 'postgres://u:p@h:1/n?x=1&y=2' },
    ],
  ])('is read as it is written: %j', (text, variables) => {
    writeFileSync(envFile, text);
    loadEnvFile(config);
    expect(process.env).toEqual({ ...before, ...variables });
  });

  it('does not replace a variable, also if that is empty', () => {
    process.env.A1 = '';
    writeFileSync(envFile, 'A1=x');
    loadEnvFile(config);
    expect(process.env.A1).toBe('');
  });

  it('may be missing, and may be a folder of other tools', () => {
    rmSync(envFile);
    loadEnvFile(config);
    mkdirSync(envFile);
    loadEnvFile(config);
    expect(process.env).toEqual(before);
  });
});
