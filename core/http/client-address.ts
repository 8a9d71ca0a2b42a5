/**
 * Finds the IP address of a client. Each proxy appends the address of its caller to `x-forwarded-for`, but
 * the client can send that header too. So only as many entries from the right are trusted as there are own
 * proxies.
 */
import { isIP } from 'node:net';

/** Strips brackets and ports: `[::1]:443`, `10.0.0.1:5000`. Returns undefined if no address remains. */
function parseAddress(written: string): string | undefined {
  const text = written.trim();
  const inner = /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
  return isIP(inner) === 0 ? undefined : inner;
}

/**
 * `forwarded` is the `x-forwarded-for` header, `remote` the address of the connection, and `proxies` the
 * number of own proxies in front of the gateway.
 */
export function resolveClientAddress(
  forwarded: string | readonly string[] | undefined,
  remote: string,
  proxies: number,
): string {
  if (proxies === 0 || forwarded === undefined) return remote;
  const entries = String(forwarded).split(',');
  // With fewer entries than proxies, the call entered behind some of them.
  return parseAddress(entries[Math.max(0, entries.length - proxies)] ?? '') ?? remote;
}
