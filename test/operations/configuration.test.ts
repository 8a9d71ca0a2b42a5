/** The configuration over HTTP: how an operator reads and changes it, in a process of its own. */
import { readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { askAdmin, type AdminReply } from '../support/admin-listener.ts';
import { findAdminUrl } from '../support/admin-url.ts';
import { closePages, hasBrowser } from '../support/browser.ts';
import { openPage, signInOn } from '../support/operated-console.ts';
import { makeDataFolder, startProcess, type RunningGateway } from '../support/process.ts';

const folder = makeDataFolder();
const file = join(folder, 'gateway.config.ts');
const plugin = join(folder, 'greeter.ts');
const secrets = {
  OPENAI_API_KEY: 'sk-the-key-of-the-environment',
  OWN_SECRET: 'a secret of the operator',
  LEDGER_URL: 'postgres://ledger:hunter22@127.0.0.1:1/ledger',
};

interface Written {
  readonly server?: string;
  readonly restWhenFull?: number;
  readonly apiKey?: string;
  readonly extra?: string;
}

/**
 * The gateway reloads a file whose time or size changed. These stay the same, so that nothing but a test
 * reloads it.
 */
function writeUnseen(path: string, text: string): void {
  writeFileSync(path, text.padEnd(4000));
  utimesSync(path, 1e9, 1e9);
}

function configure(
  { server = '', restWhenFull = 7, apiKey = 'sk-written-in-the-file', extra = '' }: Written = {},
  to = folder,
): void {
  writeUnseen(
    join(to, 'gateway.config.ts'),
    `
    import { defineConfig } from 'tollgate';
    import { bearer } from 'tollgate/plugins/auth/bearer';
    import { admin } from 'tollgate/plugins/operations/admin';
    import { webConsole } from 'tollgate/plugins/operations/console';
    import { configuration } from 'tollgate/plugins/operations/configuration';
    import { chatCompletions } from 'tollgate/plugins/protocols/chat-completions';
    import { deepseek } from 'tollgate/plugins/providers/deepseek';
    import { mistral } from 'tollgate/plugins/providers/mistral';
    import { openai } from 'tollgate/plugins/providers/openai';
    import { health } from 'tollgate/plugins/routing/health';
    import { greeter } from ${JSON.stringify(plugin)};
    export default defineConfig({
      server: { port: Number(process.env.PORT), ${server} },
      dataFolder: ${JSON.stringify(to)},
      plugins: [
        bearer(), chatCompletions(), openai(), deepseek({ apiKey: ['${apiKey}', 'short'] }), mistral(),
        health({ restWhenFull: ${restWhenFull} }),
        greeter({
          note: process.env.OWN_SECRET,
          store: process.env.LEDGER_URL,
          headers: { authorization: 'x' },
        }),
        admin({ port: 0 }), webConsole(), configuration(), ${extra}
      ],
    });
  `,
  );
}

function writePlugin(greeting: string): void {
  writeUnseen(
    plugin,
    `
    import { definePlugin } from 'tollgate';
    import { z } from '${import.meta.resolve('zod')}';
    export const greeter = definePlugin({
      name: 'greeter',
      options: z.looseObject({}),
      apply(host) {
        host.routes.add({
          name: 'greeting', method: 'GET', path: '/greeting', access: 'public',
          encodeError: () => ({ status: 500, body: '' }),
          handle: async () => ({
            status: 200, headers: { 'content-type': 'text/plain' }, body: '${greeting}',
          }),
        });
      },
    });
  `,
  );
}

let gateway: RunningGateway;
let adminUrl = '';
let secret = '';
beforeAll(async () => {
  writePlugin('first');
  configure();
  gateway = await startProcess({ TOLLGATE_CONFIG: file, TOLLGATE_DATA: folder, ...secrets });
  adminUrl = findAdminUrl(gateway.printed());
  secret = readFileSync(join(folder, 'operator-secret'), 'utf8').trim();
});

const texts: string[] = [];

async function ask(method: string, path: string): Promise<AdminReply> {
  const reply = await askAdmin(adminUrl, secret, [method, path]);
  texts.push(reply.text);
  return reply;
}

async function fetchGreeting(): Promise<string> {
  return (await fetch(`${gateway.url}/greeting`)).text();
}

describe.runIf(hasBrowser)('the page of the configuration', () => {
  it('shows what a reload would change, and reloads', async () => {
    try {
      const { page, complaints } = await openPage();
      await signInOn(page, { adminUrl, secret });
      await page.goto(`${adminUrl}/#/configuration`);
      const options = page.getByRole('region', { name: 'Options', exact: true });
      await options.getByText('restWhenFull').waitFor();
      configure({ restWhenFull: 13 });
      await page.getByRole('button', { name: 'What would change?' }).click();
      await page
        .getByRole('region', { name: 'Changes', exact: true })
        .getByText('13', { exact: true })
        .waitFor();
      await page.getByRole('button', { name: 'Reload', exact: true }).click();
      await options.getByText('13', { exact: true }).waitFor();
      configure({ extra: 'nonsense(),' });
      await page.getByRole('button', { name: 'Reload', exact: true }).click();
      await page.getByText('nonsense is not defined').waitFor();
      expect(complaints).toEqual([]);
      texts.push((await page.locator('main').textContent()) ?? '');
    } finally {
      await closePages();
      configure();
      await ask('POST', '/reload');
    }
  });
});

describe('the configuration in force', () => {
  it('is shown with what is written, what defaults add, and which plugins are off', async () => {
    expect((await ask('GET', '/config')).body).toMatchObject({
      file,
      dataFolder: folder,
      version: expect.stringMatching(/^\d+\./),
      workers: 1,
      settings: expect.arrayContaining([
        { path: 'timeouts.connect', value: 10, isDefault: true, isSecret: false },
        { path: 'dataFolder', value: folder, isDefault: false, isSecret: false },
      ]),
      plugins: expect.arrayContaining([
        { name: 'mistral', off: 'set MISTRAL_API_KEY', options: expect.anything() },
        {
          name: 'health',
          options: expect.arrayContaining([
            { path: 'restWhenFull', value: 7, isDefault: false, isSecret: false },
            { path: 'restWhenBarred', value: 60, isDefault: true, isSecret: false },
          ]),
        },
        {
          name: 'deepseek',
          options: expect.arrayContaining([
            { path: 'apiKey[0]', isDefault: false, isSecret: true },
            { path: 'apiKey[1]', isDefault: false, isSecret: true },
          ]),
        },
        {
          name: 'greeter',
          options: [
            { path: 'note', isDefault: false, isSecret: true },
            { path: 'store', value: 'postgres://••••@127.0.0.1:1/ledger', isDefault: false, isSecret: false },
            { path: 'headers.authorization', isDefault: false, isSecret: true },
          ],
        },
      ]),
    });
  });

  it('changes nothing when it is checked, and the check names every difference', async () => {
    configure({ server: 'maxConnections: 77,', restWhenFull: 9, apiKey: 'sk-another-in-the-file' });
    const { body } = await ask('POST', '/config/check');
    expect(body).toMatchObject({
      ok: true,
      waiting: ['server.maxConnections'],
      changes: {
        settings: [{ path: 'server.maxConnections', after: 77 }],
        added: [],
        removed: [],
        isReordered: false,
        changed: [
          { plugin: 'deepseek', options: [{ path: 'apiKey[0]', isSecret: true }] },
          { plugin: 'health', options: [{ path: 'restWhenFull', before: 7, after: 9 }] },
        ],
      },
    });
  });

  it('is replaced by a reload, with the code of plugins that are files of the operator', async () => {
    writePlugin('second');
    configure({ restWhenFull: 11 });
    expect((await ask('POST', '/reload')).body).toEqual({ ok: true, waiting: [], workers: 0 });
    expect(await fetchGreeting()).toBe('second');
    expect((await ask('POST', '/config/check')).body).toMatchObject({
      changes: { settings: [], added: [], removed: [], changed: [] },
    });
  });

  it('stays as it is if the new one is wrong, and says why without a secret', async () => {
    configure({
      extra: `(() => { throw new Error('wrong: ' + process.env.OWN_SECRET + process.env.LEDGER_URL); })(),`,
    });
    for (const path of ['/config/check', '/reload'])
      expect((await ask('POST', path)).body).toMatchObject({
        ok: false,
        fault: expect.stringContaining('wrong: ••••'),
      });
    expect(await fetchGreeting()).toBe('second');
  });

  it('never shows a secret', () => {
    expect(texts.length).toBeGreaterThan(5);
    for (const hidden of [...Object.values(secrets), 'hunter22', 'sk-written', 'sk-another', secret])
      expect(texts.join('\n')).not.toContain(hidden);
  });

  it('is for operators alone', async () => {
    for (const [method, path] of [
      ['GET', 'config'],
      ['POST', 'config/check'],
      ['POST', 'reload'],
    ] as const)
      expect((await fetch(`${adminUrl}/admin/${path}`, { method })).status).toBe(401);
  });
});

it('several workers reload together, and share the providers an operator takes out of service', async () => {
  const other = makeDataFolder();
  configure({ server: 'workers: 2,' }, other);
  const pair = await startProcess({
    TOLLGATE_CONFIG: join(other, 'gateway.config.ts'),
    TOLLGATE_DATA: other,
    ...secrets,
  });
  const own = readFileSync(join(other, 'operator-secret'), 'utf8').trim();
  try {
    const at = findAdminUrl(pair.printed());
    const send = (path: string): Promise<AdminReply> => askAdmin(at, own, ['POST', path]);
    await expect.poll(async () => (await send('/reload')).body).toMatchObject({ ok: true, workers: 1 });
    expect((await send('/providers/openai/rest')).body).toMatchObject({ workers: 2 });
    for (let look = 0; look < 6; look += 1) {
      const { body } = await askAdmin(at, own, ['GET', '/providers']);
      expect(body).toMatchObject({
        workers: 2,
        providers: expect.arrayContaining([expect.objectContaining({ provider: 'openai', state: 'held' })]),
      });
    }
  } finally {
    await pair.stop('SIGKILL');
  }
});
