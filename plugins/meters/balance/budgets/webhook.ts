/**
 * Delivers warnings: each is logged and counted once, and sent to the operator's webhook if there is one,
 * with growing pauses until the receiver accepts it. The ledger stores what is due, so a warning survives
 * a restart, and one process at a time delivers it. A receiver may get a warning twice, with the same
 * `id`.
 */
import { createHmac } from 'node:crypto';
import { z } from 'zod';
import type { LedgerServiceOptions } from '../ledger-service.ts';
import { describeWarning } from '../operator/budgets.ts';
import type { Warning } from '../store.ts';
import { sharedSecret } from '../top-ups.ts';

export const webhookOptions = z.strictObject({
  /** Where warnings are sent. Redirects are not followed. */
  url: z.url({ protocol: /^https?$/ }),
  secret: sharedSecret,
  /** Seconds to wait for a response. */
  timeout: z.number().min(0.1).max(60).default(10),
});

export interface Delivery extends Pick<LedgerServiceOptions, 'store' | 'logger' | 'metrics'> {
  readonly webhook: z.output<typeof webhookOptions> | undefined;
  /** Milliseconds between two checks, and before the first retry. */
  readonly every?: number;
  readonly firstPause?: number;
}

const longestPause = 3_600_000;
/** Milliseconds after which an undelivered warning is abandoned. */
const longestTry = 24 * 3_600_000;
const together = 20;

/** Rejects with the reason if the receiver does not accept it. */
async function sendWarning(
  warning: Warning,
  { url, secret, timeout }: z.output<typeof webhookOptions>,
): Promise<void> {
  const body = JSON.stringify(describeWarning(warning));
  const time = Math.floor(Date.now() / 1000);
  const signature = createHmac('sha256', secret).update(`${time}.${body}`).digest('hex');
  const response = await fetch(url, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', 'tollgate-signature': `t=${time},v1=${signature}` },
    redirect: 'error',
    signal: AbortSignal.timeout(timeout * 1000),
  });
  // Only the status matters, and the body may be of any size.
  await response.body?.cancel();
  if (!response.ok) throw new Error(`it answered ${response.status}`);
}

async function deliverWarning(
  warning: Warning,
  { store, logger, metrics, webhook, firstPause = 5000 }: Delivery,
): Promise<void> {
  const { id, attempts, event, budget, threshold } = warning;
  if (attempts === 1) {
    metrics.budgetWarnings.inc({ event });
    const reached = event === 'exhausted' ? 'a budget refuses calls' : `a budget has reached ${threshold} %`;
    logger.warn(describeWarning(warning).budget, reached);
  }
  try {
    if (webhook) {
      await sendWarning(warning, webhook);
      metrics.budgetWebhooks.inc({ outcome: 'ok' });
    }
    await store.endWarning({ id });
  } catch (error) {
    const pause = Math.min(firstPause * 2 ** Math.min(attempts - 1, 20), longestPause);
    const isLast = Date.now() + pause - warning.at > longestTry;
    metrics.budgetWebhooks.inc({ outcome: isLast ? 'given-up' : 'failed' });
    logger.warn({ error, warning: id, budget, attempts, isLast }, 'a warning could not be delivered');
    await store.endWarning({ id, due: isLast ? undefined : Date.now() + pause });
  }
}

export async function deliverWarnings(delivery: Delivery): Promise<void> {
  const { store, webhook } = delivery;
  if (!(await store.hasDueWarnings({ at: Date.now() }))) return;
  const at = Date.now();
  // Long enough for all of them to time out: until then no other process tries.
  const until = at + 60_000 + (webhook?.timeout ?? 0) * 1000;
  const due = await store.takeWarnings({ at, until, limit: together });
  await Promise.all(due.map((warning) => deliverWarning(warning, delivery)));
}

/** Delivers warnings from now on; returns a function that stops it. */
export function keepDelivering(delivery: Delivery): () => void {
  let isBusy = false;
  // While the ledger fails, warnings stay due.
  const logFailure = (error: unknown): void => delivery.logger.debug({ error }, 'warnings could not be read');
  const timer = setInterval(async () => {
    if (isBusy) return;
    isBusy = true;
    await deliverWarnings(delivery).catch(logFailure);
    isBusy = false;
  }, delivery.every ?? 2000).unref();
  return () => clearInterval(timer);
}
