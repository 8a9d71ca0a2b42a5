/**
 * What `process.nextTick` costs before and after full collections that find no tick waiting, without and with
 * `keepTickShape`.
 *
 * node test/bench/ticks.ts
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { keepTickShape } from '../../core/cli/command-line.ts';

const ticks = 50_000;
/** V8 compiles during the first rounds. */
const rounds = 8;
/** V8 keeps a shape that nothing uses for two collections. */
const collections = 3;

function ignore(): void {
  // A tick that does nothing.
}

async function measureTick(): Promise<number> {
  let nanoseconds = NaN;
  for (let round = 0; round < rounds; round += 1) {
    const began = performance.now();
    for (let tick = 0; tick < ticks; tick += 1) {
      process.nextTick(ignore);
      if (tick % 10 === 0) await undefined;
    }
    nanoseconds = ((performance.now() - began) * 1e6) / ticks;
    await setImmediate();
  }
  return nanoseconds;
}

async function report(kept: boolean): Promise<void> {
  if (kept) keepTickShape();
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  const before = await measureTick();
  for (let count = 0; count < collections; count += 1) {
    if (typeof collect === 'function') collect();
    await setImmediate();
  }
  const after = await measureTick();
  const name = kept ? 'shape kept' : 'shape dropped';
  process.stdout.write(`${name}: ${before.toFixed(0)} ns, after collections ${after.toFixed(0)} ns\n`);
}

const [how] = process.argv.slice(2);
if (how) await report(how === 'kept');
else for (const each of ['dropped', 'kept']) await once(fork(import.meta.filename, [each]), 'exit');
