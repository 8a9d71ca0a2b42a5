/**
 * What a command and its modules cost: processor time and peak memory of `tollgate keys list` on a ledger, as
 * it is and without the quick resolution of imports, in turn. Medians.
 *
 * npm run bench:start      START_ROUNDS=15
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { computeMedian } from './statistics.ts';

const rounds = Number(process.env.START_ROUNDS ?? 15);
const entry = join(import.meta.dirname, '../../core/cli.js');
const folder = mkdtempSync(join(tmpdir(), 'tollgate-start-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));

const usageSchema = z.object({ userCPUTime: z.number(), systemCPUTime: z.number(), maxRSS: z.number() });

/** Prints what the process used, as its last line. */
const report = `process.once('exit', () => console.log(JSON.stringify(process.resourceUsage())));`;
/** The first hooks that a command registers are those of the quick resolution. */
const slow = `import module from 'node:module';
  const { registerHooks } = module;
  module.registerHooks = () => { module.registerHooks = registerHooks; module.syncBuiltinESMExports(); };
  module.syncBuiltinESMExports();`;

async function run(words: readonly string[], script = ''): Promise<{ milliseconds: number; mib: number }> {
  const preload = `data:text/javascript,${encodeURIComponent(`${script}\n${report}`)}`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', preload, entry, ...words], {
    env: { ...process.env, TOLLGATE_DATA: folder },
  });
  const used = usageSchema.parse(JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? ''));
  return { milliseconds: (used.userCPUTime + used.systemCPUTime) / 1000, mib: used.maxRSS / 1024 };
}

await run(['accounts', 'create', 'bench']);
const kinds = { 'as it is': '', 'without quick resolution': slow };
const figures: Record<string, { milliseconds: number; mib: number }[]> = {};
for (let round = 0; round < rounds; round += 1)
  for (const [name, script] of Object.entries(kinds))
    (figures[name] ??= []).push(await run(['keys', 'list'], script));
for (const [name, all] of Object.entries(figures)) {
  const milliseconds = computeMedian(all.map((used) => used.milliseconds)).toFixed(0);
  const mib = computeMedian(all.map((used) => used.mib)).toFixed(0);
  console.log(`${name.padEnd(26)} ${milliseconds} ms of processor time, ${mib} MiB at most`);
}
