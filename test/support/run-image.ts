/**
 * `npm run image`: follows the Dockerfile without an engine, in a root file system of its own, and runs the
 * result as an engine does: by the image's user as process 1, the root read-only, `/data` a volume. It prints
 * as JSON what it saw. It needs Linux and root. The packages are copies of installed ones; with `-- --npm`
 * npm installs them, as in a build.
 */
import { execFileSync, spawn, spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, cpSync, globSync, mkdirSync, mkdtempSync, readFileSync } from 'node:fs';
import { renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { environment, findLast, listInstalled, root, stages } from './deployment.ts';
import { findFreePort } from './free-port.ts';

const place = mkdtempSync(join(tmpdir(), 'tollgate-image-'));
const [image, volume] = [join(place, 'image'), join(place, 'volume')];
const folders = ['usr', 'proc', 'dev', 'etc', 'tmp', 'app'];
const devices = ['null', 'zero', 'random', 'urandom'];
const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** An empty root with the base image's users; programs and libraries are this machine's. */
function makeRoot(): void {
  for (const name of folders) mkdirSync(join(image, name), { recursive: true });
  for (const folder of [place, image]) chmodSync(folder, 0o755);
  for (const name of ['bin', 'sbin', 'lib', 'lib64']) symlinkSync(`usr/${name}`, join(image, name));
  for (const name of devices) writeFileSync(join(image, 'dev', name), '');
  writeFileSync(
    join(image, 'etc/passwd'),
    'root:x:0:0::/root:/bin/sh\nnode:x:1000:1000::/home/node:/bin/sh\n',
  );
  writeFileSync(join(image, 'etc/hosts'), '127.0.0.1 localhost\n');
}

/** Shell lines that put together what a process of the image sees. `$0` is the root, `$1` the Node to run. */
const mounts = [
  'set -e',
  'mount --make-rprivate /',
  'mount --bind "$0" "$0"',
  'mount --bind /usr "$0/usr"',
  'mount -o remount,bind,ro "$0/usr"',
  // The base image has its own Node, and this machine's is another.
  'mount -t tmpfs tmpfs "$0/usr/local"',
  'mkdir "$0/usr/local/bin"',
  'touch "$0/usr/local/bin/node"',
  'mount --bind "$1" "$0/usr/local/bin/node"',
  'mount -t proc proc "$0/proc"',
  'mount -t tmpfs -o mode=1777 tmpfs "$0/tmp"',
  ...devices.map((name) => `mount --bind /dev/${name} "$0/dev/${name}"`),
];
const readOnly = [`mount --bind ${volume} "$0/data"`, 'mount -o remount,bind,ro "$0"'];

/** The arguments of `unshare` for a command inside, which becomes process 1 there. */
function enterImage(
  command: readonly string[],
  { user, more = [], variables = {} }: { user: string; more?: string[]; variables?: Record<string, string> },
): string[] {
  const set = Object.entries({ ...environment, PATH: path, ...variables });
  const shell = [...mounts, ...more, 'shift', 'exec "$@"'].join('\n');
  const inside = ['env', '-i', '-C', '/app', ...set.map((pair) => pair.join('=')), ...command];
  const flags = ['--mount', '--pid', '--fork', '--kill-child'];
  return [
    ...flags,
    'sh',
    '-c',
    shell,
    image,
    process.execPath,
    'chroot',
    `--userspec=${user}`,
    image,
    ...inside,
  ];
}

/** Follows the stage that installs packages, and returns their folder. */
function installPackages(withNpm: boolean): string {
  const project = join(place, 'packages');
  mkdirSync(project);
  for (const { word, rest } of stages[0] ?? []) {
    if (word === 'COPY')
      for (const file of rest.split(' ').slice(0, -1)) cpSync(join(root, file), join(project, file));
    if (word === 'RUN' && (withNpm || !rest.startsWith('npm ')))
      execFileSync('sh', ['-c', rest], { cwd: project, stdio: ['ignore', 'ignore', 'inherit'] });
  }
  if (withNpm) return project;
  const nested = /\/node_modules\/(?:@[^/]+\/)?[^/]+\/node_modules$/;
  for (const file of listInstalled(project))
    cpSync(join(root, file), join(project, file), { recursive: true, filter: (from) => !nested.test(from) });
  return project;
}

/** Brings what a COPY names: a folder's content goes into the folder that is named. */
function copy(from: string, rest: string): void {
  const names = rest.split(' ').filter((name) => !name.startsWith('--from'));
  const to = join(image, 'app', names.pop() ?? '');
  for (const name of names) {
    const source = join(from, name.replace(/^\/app\//, ''));
    const target = rest.endsWith('/') ? join(to, basename(name)) : to;
    if (from === root) cpSync(source, target, { recursive: statSync(source).isDirectory() });
    else renameSync(source, target);
  }
}

function buildImage(packages: string): void {
  let user = '0:0';
  for (const { word, rest } of stages.at(-1) ?? []) {
    if (word === 'USER') user = rest;
    if (word === 'COPY') copy(rest.startsWith('--from') ? packages : root, rest);
    if (word !== 'RUN') continue;
    const command = enterImage(['sh', '-c', rest], { user });
    execFileSync('unshare', command, { stdio: ['ignore', 'inherit', 'inherit'] });
  }
}

/** Runs a command beside the gateway, as `docker exec` and the health check do. */
function runBeside(pid: string, command: readonly string[], port: number): SpawnSyncReturns<string> {
  const [user = '', group = ''] = findLast('USER').split(':');
  const set = Object.entries({ ...environment, PATH: path, PORT: port }).map((pair) => pair.join('='));
  const flags = ['--target', pid, '--mount', '--pid', '--root', '--wd', '--setuid', user, '--setgid', group];
  return spawnSync('nsenter', [...flags, 'env', '-i', ...set, ...command], { encoding: 'utf8' });
}

const clouds = [
  '@azure/identity',
  '@smithy/eventstream-codec',
  '@smithy/signature-v4',
  'google-auth-library',
];
const probes = ['/', '/app', '/app/core', '/app/.cache', '/etc', '/usr', '/data', '/tmp'];

async function runImage(): Promise<object> {
  const [port, adminPort] = [await findFreePort(), await findFreePort()];
  const entry: string[] = JSON.parse(findLast('ENTRYPOINT'));
  const words: string[] = JSON.parse(findLast('CMD'));
  const variables = { PORT: String(port), TOLLGATE_ADMIN_PORT: String(adminPort) };
  const user = findLast('USER');
  const child = spawn('unshare', enterImage([...entry, ...words], { user, more: readOnly, variables }));
  let printed = '';
  for (const output of [child.stdout, child.stderr]) output.on('data', (chunk) => (printed += String(chunk)));
  const closed = once(child, 'close');
  while (!printed.includes('is ready at')) {
    if (child.exitCode !== null) throw new Error(`it ended before it was ready: ${printed}`);
    await sleep(50);
  }
  const pid = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim();
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const [, program = ''] = /^.*? CMD (\[.*\])$/.exec(findLast('HEALTHCHECK')) ?? [];
  const health: string[] = JSON.parse(program);
  const load = `await Promise.all(${JSON.stringify(clouds)}.map((name) => import(name)))`;
  const seen = {
    users: /^Uid:\s+(.*)$/m.exec(status)?.[1],
    innerPid: /^NSpid:.*\s(\d+)$/m.exec(status)?.[1],
    written: probes.filter((folder) => runBeside(pid, ['touch', join(folder, 'probe')], port).status === 0),
    healthy: runBeside(pid, health, port).status,
    unhealthy: runBeside(pid, health, 9).status,
    clouds: runBeside(pid, ['node', '--input-type=module', '--eval', load], port).status,
    verb: runBeside(pid, [...entry, 'keys', 'create', '--credit', '5', '--json'], port).status,
    volume: globSync('*', { cwd: volume }).toSorted(),
  };
  process.kill(Number(pid), 'SIGTERM');
  const [code] = await closed;
  return { ...seen, code, printed, kept: globSync('*/*', { cwd: join(image, 'app/.cache') }).length };
}

try {
  makeRoot();
  buildImage(installPackages(process.argv.includes('--npm')));
  mkdirSync(volume);
  chownSync(volume, 1000, 1000);
  process.stdout.write(`${JSON.stringify(await runImage(), undefined, 2)}\n`);
} finally {
  rmSync(place, { recursive: true, force: true });
}
