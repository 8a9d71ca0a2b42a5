/**
 * Hands warnings to the outbox of notices, whose channels tell operators: each is logged and counted once.
 * The ledger stores what is due, so a warning survives a restart, and one process at a time hands it over.
 */
import type { Host } from '../../../../core/index.ts';
import { raiseNotice } from '../../../shared/notices/events.ts';
import { longestTry } from '../../../shared/notices/outbox.ts';
import type { LedgerServiceOptions } from '../ledger-service.ts';
import { listLine } from '../notices.ts';
import { describeWarning } from '../operator/budgets.ts';
import type { Warning } from '../store.ts';

export interface Forwarding extends Pick<LedgerServiceOptions, 'store' | 'logger' | 'metrics'> {
  readonly notices: Host['notices'];
}

const lookEvery = 2000;
const together = 20;
/** Milliseconds after which another process takes a warning that this one took and did not end. */
const takenFor = 60_000;

/** Returns whether it is kept. */
async function raiseWarning(warning: Warning, { store, notices }: Forwarding): Promise<boolean> {
  const { id, event, scope, subject, per } = warning;
  const when = per === 'total' ? 'in all' : `in this ${per}`;
  const [key] = scope === 'key' ? await store.listKeys({ ids: [subject], limit: 1 }) : [];
  const account = scope === 'key' ? key?.account : subject;
  const accounts = scope === 'tag' ? [] : await listLine(store, account);
  return raiseNotice(
    notices,
    `budget.${event}`,
    { subject: `budget ${warning.budget}`, period: `warning ${id}`, accounts },
    { ...describeWarning(warning).budget, name: key?.name || subject, when },
  );
}

async function forwardWarning(warning: Warning, forwarding: Forwarding): Promise<void> {
  const { store, logger, metrics, notices } = forwarding;
  const { id, attempts, event, threshold } = warning;
  if (attempts === 1) {
    metrics.budgetWarnings.inc({ event });
    const reached = event === 'exhausted' ? 'a budget refuses calls' : `a budget has reached ${threshold} %`;
    logger.warn(describeWarning(warning).budget, reached);
  }
  const isOver = notices.outbox === undefined || Date.now() >= warning.at + longestTry;
  // What is not kept is taken again, for as long as the outbox would try.
  if (isOver || (await raiseWarning(warning, forwarding))) await store.endWarning({ id });
}

export async function forwardWarnings(forwarding: Forwarding): Promise<void> {
  const { store } = forwarding;
  const at = Date.now();
  if (!(await store.hasDueWarnings({ at }))) return;
  const due = await store.takeWarnings({ at, until: at + takenFor, limit: together });
  await Promise.all(due.map((warning) => forwardWarning(warning, forwarding)));
}

/** Hands warnings over from now on; returns a function that stops it. */
export function keepForwarding(forwarding: Forwarding): () => void {
  // While the ledger fails, warnings stay due.
  const logFailure = (error: unknown): void =>
    forwarding.logger.debug({ error }, 'warnings could not be read');
  const look = (): void => void forwardWarnings(forwarding).catch(logFailure);
  const timer = setInterval(look, lookEvery).unref();
  return () => clearInterval(timer);
}
