/**
 * Sockets that systemd opened for this process and keeps over a restart, so that no connection is refused
 * meanwhile. The first one is for the public listener, one named `admin` for the admin listener.
 */
import cluster from 'node:cluster';

const firstDescriptor = 3;

/** The descriptor of a listener's socket; undefined: the listener opens its own. */
export function findInheritedSocket(
  name: 'public' | 'admin',
  { LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES = '' }: NodeJS.ProcessEnv = process.env,
): number | undefined {
  // Workers inherit the variables, and listen through their parent.
  if (Number(LISTEN_PID) !== (cluster.isWorker ? process.ppid : process.pid)) return undefined;
  const names = LISTEN_FDNAMES.split(':');
  const sockets = Array.from({ length: Number(LISTEN_FDS) || 0 }, (_, index) => index);
  const index = sockets.find((each) => (names[each] === 'admin') === (name === 'admin'));
  return index === undefined ? undefined : firstDescriptor + index;
}
