/**
 * How many files and connections the system lets this process have open, and how many of them clients may
 * take: a call needs a second one for its vendor, and the ledger, the operators and the log need theirs
 * whatever comes.
 */
import { readFileSync } from 'node:fs';
import { z } from 'zod';

/** Where the system sets no narrower limit. */
const usual = 20_000;
/**
 * Files that are open whoever calls: the ledger, what is watched and loaded, the operators' own connections.
 */
const own = 64;

const reportSchema = z.object({
  userLimits: z.object({
    open_files: z.object({ soft: z.union([z.number(), z.literal('unlimited').transform(() => Infinity)]) }),
  }),
});

/** Linux tells it in a file; elsewhere a report of Node's does, which takes a while. */
function readLimit(): string | undefined {
  try {
    return /^Max open files +(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
  } catch {
    return undefined;
  }
}

/** Undefined where the system does not say. */
export function openFiles(): number | undefined {
  const limit = readLimit();
  if (limit !== undefined) return limit === 'unlimited' ? Infinity : Number(limit);
  // Looking up names of the network's other ends would take long.
  Object.assign(process.report, { excludeNetwork: true });
  return reportSchema.safeParse(process.report.getReport()).data?.userLimits.open_files.soft;
}

/** Files that it takes for so many clients to be served at once. */
export function filesFor(connections: number): number {
  return connections * 2 + own;
}

/** Clients that may be connected at once where the configuration does not say. */
export function mostConnections(files = openFiles() ?? Infinity): number {
  return Math.max(1, Math.min(usual, Math.floor((files - own) / 2)));
}

/** What is wrong with as many connections as the configuration asks for; undefined where they can be had. */
export function connectionFault(connections: number, files = openFiles() ?? Infinity): string | undefined {
  if (filesFor(connections) <= files) return undefined;
  return `server.maxConnections is ${connections}, and this system lets a process open ${files} files: a crowd could take those that the vendors, the ledger and the operators need. Raise the limit to ${filesFor(connections)} (ulimit -n, or LimitNOFILE of the service), or lower server.maxConnections to ${mostConnections(files)}.`;
}
