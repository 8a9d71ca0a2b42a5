/**
 * Stands in for systemd: opens a listening socket, and runs a command with it, again and again. It never
 * accepts a connection itself, because it waits for the command without an event loop.
 */
import { spawnSync } from 'node:child_process';
import { createServer } from 'node:net';

const [port, ...command] = process.argv.slice(2);
// Prints the process that has the socket, and becomes the command.
const script = 'echo "runs as $$"; LISTEN_FDS=1 LISTEN_PID=$$ exec "$0" "$@"';

function getDescriptor(server: object): number {
  const handle: unknown = Reflect.get(server, '_handle');
  return Number(typeof handle === 'object' && handle !== null && 'fd' in handle ? handle.fd : -1);
}

const server = createServer().listen(Number(port), '127.0.0.1', () => {
  const stdio = ['ignore', 'inherit', 'inherit', getDescriptor(server)] as const;
  for (;;) spawnSync('sh', ['-c', script, ...command], { stdio: [...stdio] });
});
