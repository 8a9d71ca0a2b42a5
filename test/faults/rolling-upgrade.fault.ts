/**
 * Two gateways of an earlier version on one PostgreSQL are replaced by this one, one after the other, while
 * clients call: as a balancer does it, a client asks the next gateway if one stops. Old and new share the
 * database meanwhile. At most one call in a hundred may be refused, and none may be lost.
 *
 * EARLIER=d2dc27a7
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import { z } from 'zod';
import { openPostgres } from '../../plugins/meters/balance/postgres/open.ts';
import { queryDatabase } from '../balance/postgres-database.ts';
import { openDatabase } from '../support/database.ts';
import { postJson } from '../support/post.ts';
import { clone, makeDataFolder, runAlone, startProcess, type RunningGateway } from '../support/process.ts';

const earlier = process.env.EARLIER ?? 'd2dc27a7';
const folder = join(mkdtempSync(join(tmpdir(), 'tollgate-earlier-')), 'tollgate');
/** A test in which nothing else happens ends. */
const mostRefused = 100;
const git = (...args: readonly string[]): unknown => execFileSync('git', args, { cwd: clone.folder });
const createdSchema = z.object({ key: z.string() });

afterAll(() => {
  git('worktree', 'remove', '--force', folder);
  rmSync(join(folder, '..'), { recursive: true, force: true });
});

it(`gateways of ${earlier} are replaced under load: 1 % of calls refused at most, none lost`, async () => {
  git('worktree', 'add', '--detach', folder, earlier);
  symlinkSync(join(clone.folder, 'node_modules'), join(folder, 'node_modules'));
  const copy = { entry: join(folder, 'core/cli.js'), folder };
  const { url } = await openDatabase();
  const prepare = (): Record<string, string> => ({
    TOLLGATE_LEDGER_URL: url,
    TOLLGATE_DATA: makeDataFolder(),
    TOLLGATE_DATA_KEY: Buffer.alloc(32, 7).toString('base64'),
  });
  // The delivered configuration of that version had no ledger in PostgreSQL.
  const prepareEarlier = (): Record<string, string> => ({
    ...prepare(),
    TOLLGATE_CONFIG: join(folder, 'examples/several-machines.config.ts'),
  });
  const startEarlier = (): Promise<RunningGateway> => startProcess(prepareEarlier(), copy);
  let gateways = [await startEarlier(), await startEarlier()];
  const words = ['keys', 'create', '--account', 'a', '--credit', '5', '--json'];
  const made = await runAlone(words, prepareEarlier(), copy);
  const { key } = createdSchema.parse(JSON.parse(made.output));
  const body = { model: 'demo/echo', max_tokens: 20, messages: [{ role: 'user', content: 'Hello!' }] };
  const completed: string[] = [];
  const refused: string[] = [];
  const over = new AbortController();
  /** Returns the id of the call, or why no gateway took it. */
  const call = async (order: readonly RunningGateway[]): Promise<void> => {
    let reason = '';
    for (const gateway of order) {
      try {
        const headers = { authorization: `Bearer ${key}` };
        const response = await postJson(`${gateway.url}/v1/chat/completions`, body, headers);
        const text = await response.text();
        if (response.status === 200) return void completed.push(response.headers.get('x-request-id') ?? '');
        reason = `${response.status} ${text}`;
        if (response.status !== 503) break;
      } catch (error) {
        reason = String(error);
      }
    }
    refused.push(reason);
  };
  const lanes = Array.from({ length: 6 }, async (_, lane) => {
    for (let turn = lane; !over.signal.aborted; turn += 1)
      await call(turn % 2 === 0 ? gateways : gateways.toReversed());
  });
  const waitForCalls = async (count: number): Promise<void> => {
    const target = completed.length + count;
    while (completed.length < target) {
      if (refused.length > mostRefused) throw new Error(refused.at(-1));
      await sleep(20);
    }
  };
  await waitForCalls(100);
  for (let step = 0; step < 2; step += 1) {
    const [old, other] = gateways;
    const fresh = await startProcess(prepare());
    gateways = other ? [other, fresh] : [fresh];
    await waitForCalls(100);
    expect((await old?.stop('SIGTERM'))?.code).toBe(0);
    await waitForCalls(100);
  }
  over.abort();
  await Promise.all(lanes);
  for (const gateway of gateways) expect((await gateway.stop('SIGTERM')).code).toBe(0);
  process.stdout.write(`${JSON.stringify({ completed: completed.length, refused: refused.length })}\n`);
  expect(refused.slice(Math.floor(completed.length / 100))).toEqual([]);
  const posted = await queryDatabase(url, "SELECT call FROM entries WHERE kind = 'post'");
  const entries = new Set(posted.map((row) => row.call));
  expect(completed.filter((id) => !entries.has(id))).toEqual([]);
  const store = await openPostgres({ url });
  const audit = await store.audit();
  await store.close();
  expect(audit).toMatchObject({ ok: true, pending: 0, findings: [] });
});
