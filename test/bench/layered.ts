/**
 * One process whose work is measured: a layer of `layer-names.ts`. It sends its parent where it listens, and
 * for each message its counters, or what it holds while idle.
 *
 * node layered.ts <layer> <vendor>
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createLogger } from '../../core/cli/log.ts';
import { checkConfig } from '../../core/config.ts';
import { createGateway } from '../../core/gateway.ts';
import { openServer } from '../../core/server.ts';
import { overload } from '../../plugins/operations/overload.ts';
import { hasPlugin, isGatewayLayer, isStep } from './layer-names.ts';
import { openParts } from './layer-parts.ts';

const [layer = '', vendor = ''] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'tollgate-layer-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
Object.assign(process.env, {
  OPENAI_API_KEY: 'sk-vendor',
  OPENAI_BASE_URL: `${vendor}/v1`,
  DEEPSEEK_API_KEY: 'sk-vendor',
  DEEPSEEK_BASE_URL: `${vendor}/v1`,
  TOLLGATE_ADMIN_PORT: '0',
});

/** A busy machine must not make the gateway refuse calls that are counted. */
const patient = overload({ lag: 60_000 });

/** Answers the port, a key, and the folder of the ledger. */
async function open(): Promise<{ port: number; key: string; folder: string }> {
  const { default: delivered } = await import('../../gateway.config.ts');
  const config = checkConfig({ ...delivered, dataFolder: folder, server: { port: 0 } }, 'bench');
  const depth = isGatewayLayer(layer) ? layer : 'core';
  const plugins = config.plugins
    .filter(({ name }) => hasPlugin(depth, name))
    .map((plugin) => (plugin.name === 'overload' ? patient : plugin));
  const logger = createLogger('/dev/null');
  const gateway = createGateway({ ...config, plugins }, logger);
  if (isStep(layer)) return { port: await openParts(layer, gateway, { vendor, folder }), key: '', folder };
  await gateway.open();
  const server = await openServer(gateway, config.server);
  const command = [...gateway.commands.list()].find(({ name }) => name.startsWith('keys create'));
  const created = (await command?.run([], { credit: '1000000' }, () => undefined))?.json;
  if (typeof created !== 'object' || created === null || !('key' in created))
    throw new Error('no key was made');
  return { port: Number(new URL(server.url).port), key: String(created.key), folder };
}

/** Microseconds of the main thread and of all threads, and bytes that the first allocated on its heap. */
export interface Counters {
  readonly time: number;
  readonly all: number;
  readonly bytes: number;
}

function readCounters(): Counters {
  const [main, all] = [process.threadCpuUsage(), process.cpuUsage()];
  return {
    time: main.user + main.system,
    all: all.user + all.system,
    bytes: getHeapStatistics().total_allocated_bytes,
  };
}

/** Bytes of live objects. */
async function readIdle(): Promise<{ heap: number }> {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  // Several times, since what one collection finalizes is garbage only for the next.
  for (let round = 0; round < 4; round += 1) {
    if (typeof collect === 'function') collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    await setImmediate();
  }
  return { heap: process.memoryUsage().heapUsed };
}

process.on(
  'message',
  async (asked) => void process.send?.(asked === 'idle' ? await readIdle() : readCounters()),
);
process.on('disconnect', () => process.exit());
process.send?.(await open());
