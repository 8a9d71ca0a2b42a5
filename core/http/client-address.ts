/**
 * Where a client calls from. Each proxy appends the address it was called from to `x-forwarded-for`, and whoever
 * calls may have written anything in front of that: only as many entries from the right are true as there are
 * proxies of one's own.
 */
import { isIP } from 'node:net';

/** An address without what proxies put around it: `[::1]:443`, `10.0.0.1:5000`; undefined where it is none. */
function bare(written: string): string | undefined {
  const text = written.trim();
  const inner = /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
  return isIP(inner) === 0 ? undefined : inner;
}

/** `forwarded`: the header as it came; `remote`: who the connection is with; `proxies`: how many of one's own stand between. */
export function clientAddress(
  forwarded: string | readonly string[] | undefined,
  remote: string,
  proxies: number,
): string {
  if (proxies === 0 || forwarded === undefined) return remote;
  const entries = String(forwarded).split(',');
  // Fewer entries than proxies: the call came in behind some of them.
  return bare(entries[Math.max(0, entries.length - proxies)] ?? '') ?? remote;
}
