/** Stored responses and several processes: one database, stops, and processes that are killed. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import OpenAI from 'openai';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { openDatabase } from '../support/database.ts';
import { makeDataFolder, runVerb, startProcess, type RunningGateway } from '../support/process.ts';
import { startResponsesVendor } from '../support/vendor/index.ts';

let vendor: Awaited<ReturnType<typeof startResponsesVendor>>;
beforeAll(async () => {
  vendor = await startResponsesVendor();
});

const model = 'openai/gpt-4o-mini';
const dataKey = Buffer.alloc(32, 7).toString('base64');

interface Place {
  readonly environment: Readonly<Record<string, string>>;
  remove(): Promise<void>;
}

async function makePlace(kind: 'sqlite' | 'postgres'): Promise<Place> {
  const folder = makeDataFolder();
  const database = kind === 'postgres' ? await openDatabase() : undefined;
  return {
    environment: {
      TOLLGATE_DATA: folder,
      OPENAI_API_KEY: vendor.key,
      OPENAI_BASE_URL: vendor.url,
      ...(database && { TOLLGATE_LEDGER_URL: database.url, TOLLGATE_DATA_KEY: dataKey }),
    },
    async remove() {
      await database?.drop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The delivered configuration with a short drain. */
function writeConfig(folder: string): string {
  const file = join(folder, 'short-drain.config.ts');
  const delivered = JSON.stringify(join(import.meta.dirname, '../../gateway.config.ts'));
  writeFileSync(
    file,
    `import given from ${delivered};\nexport default { ...given, server: { ...given.server, drain: 0.2 } };`,
  );
  return file;
}

async function start(environment: Place['environment']): Promise<RunningGateway> {
  const gateway = await startProcess(environment);
  onTestFinished(async () => void (await gateway.stop('SIGKILL')));
  return gateway;
}

async function makeKey({ environment }: Place, account: string): Promise<string> {
  const words = ['keys', 'create', '--account', account, '--credit', '5', '--json'];
  const { key }: { key: string } = JSON.parse((await runVerb(words, environment)).output);
  return key;
}

function connect({ url }: RunningGateway, apiKey: string): OpenAI {
  return new OpenAI({ apiKey, baseURL: `${url}/v1`, maxRetries: 0 });
}

it.each(['sqlite', 'postgres'] as const)(
  'two gateways on one %s database find, continue and cancel what the other one has, and erase it',
  async (kind) => {
    const place = await makePlace(kind);
    const gateways = await Promise.all([start(place.environment), start(place.environment)]);
    const key = await makeKey(place, 'acme');
    const [one, other] = gateways.map((gateway) => connect(gateway, key));
    if (!one || !other) return expect.unreachable();
    vendor.script('gpt-4o-mini', { text: ['Calm.'] }, { text: ['Still calm.'] }, { hold: 'forever' });
    const first = await one.responses.create({ model, input: 'The sea?' });
    expect((await other.responses.retrieve(first.id)).output_text).toBe('Calm.');
    const item = { type: 'item_reference' as const, id: first.output[0]?.id ?? '' };
    const next = await other.responses.create({ model, input: [item, { role: 'user', content: 'And?' }] });
    expect((await one.responses.retrieve(next.id)).output_text).toBe('Still calm.');

    const { id } = await one.responses.create({ model, input: 'Wait', background: true });
    await expect.poll(async () => (await other.responses.retrieve(id)).status).toBe('in_progress');
    expect((await other.responses.cancel(id)).status).toBe('cancelled');
    // The process that runs it learns of it, and closes the connection.
    await expect.poll(() => vendor.journal.at(-1)?.end).toBe('closed-by-peer');
    expect((await one.responses.retrieve(id)).status).toBe('cancelled');

    const { output } = await runVerb(['responses', 'erase', 'acme', '--yes', '--json'], place.environment);
    expect(JSON.parse(output)).toEqual({ account: 'acme', deleted: 3 });
    await expect(one.responses.retrieve(first.id)).rejects.toMatchObject({ status: 404 });
    await Promise.all(gateways.map((gateway) => gateway.stop('SIGTERM')));
    await place.remove();
  },
);

it.each(['SIGTERM', 'SIGKILL'] as const)(
  'a background response whose gateway gets %s has failed for the next one, and is charged once',
  async (signal) => {
    const place = await makePlace('sqlite');
    const folder = place.environment.TOLLGATE_DATA ?? '';
    const gateway = await start({ ...place.environment, TOLLGATE_CONFIG: writeConfig(folder) });
    const key = await makeKey(place, 'acme');
    const before = vendor.journal.length;
    vendor.script('gpt-4o-mini', { text: ['Never'], hold: 'forever', holdAfter: 3 });
    const { id } = await connect(gateway, key).responses.create({ model, input: 'Wait', background: true });
    await expect.poll(() => vendor.journal[before]?.events).toBeGreaterThan(0);
    await gateway.stop(signal);
    if (signal === 'SIGKILL') {
      // As if a minute had passed since its last beat.
      const database = new DatabaseSync(join(folder, 'ledger.db'));
      database.exec('UPDATE plugin_responses_kept SET beat = beat - 60000');
      database.close();
    }
    const next = await start(place.environment);
    const openai = connect(next, key);
    const failed = await openai.responses.retrieve(id);
    expect(failed).toMatchObject({ id, status: 'failed', background: true, output: [] });
    expect(failed.error?.message).toMatch(/gateway/i);
    // Two credits, a reservation, and what ended it: by the stopped gateway or by the next one.
    const audit = async (): Promise<unknown> =>
      JSON.parse((await runVerb(['audit', '--json'], place.environment)).output);
    await expect.poll(audit).toMatchObject({ ok: true, entries: 4, pending: 0 });
    await next.stop('SIGTERM');
    await place.remove();
  },
);
