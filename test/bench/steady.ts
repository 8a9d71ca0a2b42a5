/**
 * What a call costs at a low rate, minute by minute: processor time of all threads, full collections, and
 * memory. V8's heap takes minutes to settle.
 *
 * node test/bench/steady.ts      STEADY_MINUTES=8 STEADY_RATE=30
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeCall } from './load.ts';
import { startVendor } from './nginx.ts';
import { calls, translations, type Call } from './payload.ts';
import { readUsage, stopAll } from './processes.ts';
import { startTollgate, type Target } from './targets.ts';

const minutes = Number(process.env.STEADY_MINUTES ?? 8);
const rate = Number(process.env.STEADY_RATE ?? 30);
const kinds = [calls.json, calls.stream, translations.json, translations.stream];

async function finishCall(target: Target, call: Call): Promise<void> {
  const reply = await makeCall(target, call);
  await reply.arrayBuffer();
  if (reply.status !== 200) throw new Error(`a call was answered with ${reply.status}`);
}

/** Full collections since the start, in one pause or in steps. */
async function countCollections({ metrics = '' }: Target): Promise<number> {
  const text = await (await fetch(metrics)).text();
  const counts = text.matchAll(/^nodejs_gc_duration_seconds_count\{kind="(?:major|incremental)"\} (\d+)$/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

function readMemory(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

process.env.PATH = `${process.env.PATH}:/usr/local/sbin:/usr/sbin`;
const folder = mkdtempSync(join(tmpdir(), 'tollgate-steady-'));
try {
  const vendor = await startVendor(folder);
  const project = join(import.meta.dirname, '../..');
  const target = await startTollgate({ vendor: vendor.origin, folder, project, starts: 1 });
  let collections = await countCollections(target);
  for (let minute = 1; minute <= minutes; minute += 1) {
    const before = readUsage(target.pid).cpu;
    const running: Promise<void>[] = [];
    for (const end = performance.now() + 60_000; performance.now() < end; await sleep(1000 / rate))
      running.push(finishCall(target, kinds[running.length % kinds.length] ?? calls.json));
    await Promise.all(running);
    const microseconds = ((readUsage(target.pid).cpu - before) * 1e6) / running.length;
    const counted = await countCollections(target);
    const memory = readMemory(target.pid).toFixed(0);
    process.stdout.write(
      `minute ${minute}: ${running.length} calls, ${microseconds.toFixed(0)} processor µs each, ` +
        `${counted - collections} full collections, ${memory} MiB\n`,
    );
    collections = counted;
  }
} finally {
  await stopAll();
  rmSync(folder, { recursive: true, force: true });
}
