/** Crowds at full length: a million keys that are none, what the time of a refusal tells, and connections beyond what the system lets a process have. */
import { spawn } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createKeyring } from '../../plugins/meters/balance/keyring.ts';
import { keyId, noLimits } from '../../plugins/meters/balance/keys.ts';
import type { KeyRecord } from '../../plugins/meters/balance/store.ts';
import { createSecret, hashSecret } from '../../plugins/shared/secret.ts';
import { storeWith } from '../balance/calls.ts';
import { until } from '../support/operated.ts';
import { makeDataFolder } from '../support/process.ts';

function keyringOf(secret: string): { readonly keyring: ReturnType<typeof createKeyring>; asked: number } {
  const hash = hashSecret(secret);
  const known: KeyRecord = { ...noLimits, id: keyId(hash), hash, lastFour: secret.slice(-4), kind: 'user', name: '', account: 'someone', disabled: false, created: 0, used: 0n, pending: 0n, rotatedTo: undefined };
  const told = { asked: 0 };
  const store = storeWith({
    findKey: async (wanted) => {
      told.asked += 1;
      return wanted === hash ? known : undefined;
    },
  });
  return Object.assign(told, { keyring: createKeyring(() => store) });
}

describe('a million keys that are none', () => {
  it('reach no ledger, hold no memory, and cost a moment each', async () => {
    const secret = createSecret();
    const house = keyringOf(secret);
    const before = process.memoryUsage().heapUsed;
    const began = performance.now();
    for (let count = 0; count < 1_000_000; count += 1) await house.keyring.verify(`sk-${String(Math.random()).slice(2).padEnd(42, 'x')}`);
    const microseconds = (performance.now() - began) / 1000;
    process.stdout.write(`${microseconds.toFixed(2)} µs each, ${((process.memoryUsage().heapUsed - before) / 2 ** 20).toFixed(1)} MB more\n`);
    expect(house.asked).toBe(0);
    expect(microseconds).toBeLessThan(50);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(100 * 2 ** 20);
    expect(await house.keyring.verify(secret)).toBeDefined();
  });
});

/** The mean but for the slowest hundredth, which is the machine's own. */
function usual(times: readonly number[]): number {
  const kept = times.toSorted((first, second) => first - second).slice(0, Math.floor(times.length * 0.99));
  return kept.reduce((sum, time) => sum + time, 0) / kept.length;
}

/** What could be a secret, but for its last characters. */
function broken(secret: string): string {
  return Buffer.from(secret.slice(0, -3) + createSecret().slice(-3)).toString();
}

describe('the time a refusal takes', () => {
  it('does not tell how much of a key was right', async () => {
    const rounds = 16;
    let slower = 0;
    for (let round = 0; round < rounds; round += 1) {
      const secret = createSecret();
      const { keyring } = keyringOf(secret);
      const other = createSecret();
      const times: [near: number[], far: number[]] = [[], []];
      for (let count = 0; count < 40_000; count += 1) {
        const kind = Math.random() < 0.5 ? 0 : 1;
        const tried = broken(kind === 0 ? secret : other);
        const began = process.hrtime.bigint();
        await keyring.verify(tried);
        times[kind].push(Number(process.hrtime.bigint() - began));
      }
      if (usual(times[0]) > usual(times[1])) slower += 1;
    }
    process.stdout.write(`the nearer one took longer in ${slower} of ${rounds} rounds\n`);
    // Some nanoseconds lie between any two texts; they have to lie now on this side and now on that.
    expect(slower).toBeGreaterThan(0);
    expect(slower).toBeLessThan(rounds);
  });
});

const config = (folder: string): string => `
  import { defineConfig } from 'tollgate';
  import { bearer } from 'tollgate/plugins/auth/bearer';
  import { balance } from 'tollgate/plugins/meters/balance';
  import { admin } from 'tollgate/plugins/operations/admin';
  import { chatCompletions } from 'tollgate/plugins/protocols/chat-completions';
  import { demo } from 'tollgate/plugins/providers/demo';
  export default defineConfig({ server: { port: 0, maxConnections: 2048 }, dataFolder: ${JSON.stringify(folder)}, plugins: [bearer(), chatCompletions(), demo(), balance(), admin({ port: 0 })] });
`;

describe('ten thousand connections to a process that may have 4096 files', () => {
  it('are shed, the operators are let in meanwhile, and it passes', async () => {
    const folder = makeDataFolder();
    const file = join(folder, 'gateway.config.ts');
    writeFileSync(file, config(join(folder, 'data')));
    const child = spawn('bash', ['-c', `ulimit -n 4096; exec ${process.execPath} core/cli.js start`], { env: { PATH: process.env['PATH'], TOLLGATE_CONFIG: file } });
    let printed = '';
    child.stdout.on('data', (chunk) => void (printed += chunk));
    await until(() => /door: http/.test(printed));
    const url = /ready at (\S+)/.exec(printed)?.[1] ?? '';
    const door = /door: (http:[^,]+),/.exec(printed)?.[1] ?? '';
    const sockets: Socket[] = [];
    let shed = 0;
    for (let count = 0; count < 10_000; count += 1) {
      sockets.push(connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined).on('close', () => (shed += 1)).resume());
      if (count % 500 === 0) expect((await fetch(`${door}/healthz`)).status).toBe(200);
    }
    await until(() => shed >= 10_000 - 2048);
    process.stdout.write(`${shed} shed\n`);
    expect((await fetch(`${door}/healthz`)).status).toBe(200);
    for (const socket of sockets) socket.destroy();
    await until(() => fetch(`${url}/healthz`).then(({ status }) => status === 200, () => false));
    child.kill('SIGTERM');
    await until(() => child.exitCode !== null);
    expect(child.exitCode).toBe(0);
    rmSync(folder, { recursive: true, force: true });
  });
});
