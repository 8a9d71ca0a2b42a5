/**
 * How many files and connections this process may open, and how many of them clients may use. A call needs a
 * second connection for its provider. The ledger, the operators and the log need theirs at any load.
 */
import { readFileSync } from 'node:fs';
import { z } from 'zod';

/** Without a narrower limit of the system. */
const usual = 20_000;
/** Files that are open without any calls: of the ledger, watched and loaded ones, operators' connections. */
const own = 64;

const reportSchema = z.object({
  userLimits: z.object({
    open_files: z.object({ soft: z.union([z.number(), z.literal('unlimited').transform(() => Infinity)]) }),
  }),
});

/** Linux has it in a file. Elsewhere Node's report has it, which takes a while. */
function readLimit(): string | undefined {
  try {
    return /^Max open files +(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
  } catch {
    return undefined;
  }
}

/** Undefined if the system does not say. */
export function readOpenFilesLimit(): number | undefined {
  const limit = readLimit();
  if (limit !== undefined) return limit === 'unlimited' ? Infinity : Number(limit);
  // Resolving the names of remote addresses would take long.
  Object.assign(process.report, { excludeNetwork: true });
  return reportSchema.safeParse(process.report.getReport()).data?.userLimits.open_files.soft;
}

/** Files needed to serve so many clients at once. */
export function computeNeededFiles(connections: number): number {
  return connections * 2 + own;
}

/** Clients that may be connected at once if the configuration sets no limit. */
export function computeMostConnections(files = readOpenFilesLimit() ?? Infinity): number {
  return Math.max(1, Math.min(usual, Math.floor((files - own) / 2)));
}

/** Why the configured number of connections is too high; undefined if it is fine. */
export function checkConnections(
  connections: number,
  files = readOpenFilesLimit() ?? Infinity,
): string | undefined {
  if (computeNeededFiles(connections) <= files) return undefined;
  return (
    `server.maxConnections is ${connections}, and this system lets a process open ${files} files: ` +
    'a crowd could take those that the vendors, the ledger and the operators need. ' +
    `Raise the limit to ${computeNeededFiles(connections)} (ulimit -n, or LimitNOFILE of the service), ` +
    `or lower server.maxConnections to ${computeMostConnections(files)}.`
  );
}
