/**
 * Hands warnings to the outbox of notices: each is logged and counted once. The ledger stores what is due, so
 * a warning survives a restart, and one process at a time hands it over. The webhook of budgets is a channel:
 * its receiver may get a warning twice, with the same `id`.
 */
import { z } from 'zod';
import type { Host } from '../../../../core/index.ts';
import { isEventPattern, raiseNotice } from '../../../shared/notices/events.ts';
import { sendSigned, testEvent } from '../../../shared/notices/message.ts';
import { longestTry, useOutbox } from '../../../shared/notices/outbox.ts';
import type { LedgerServiceOptions } from '../ledger-service.ts';
import type { LedgerMetrics } from '../metrics.ts';
import { listLine } from '../notices.ts';
import { describeWarning } from '../operator/budgets.ts';
import type { Store, Warning } from '../store.ts';
import { sharedSecret } from '../top-ups.ts';

export const webhookOptions = z.strictObject({
  /** Where warnings are sent. Redirects are not followed. */
  url: z.url({ protocol: /^https?$/ }),
  secret: sharedSecret,
  /** Seconds to wait for a response. */
  timeout: z.number().min(0.1).max(60).default(10),
});

const factsSchema = z.looseObject({ warning: z.looseObject({ id: z.number() }) });

/** Adds the channel, which sends each warning as it always was. */
export function addBudgetWebhook(
  host: Host,
  webhook: z.output<typeof webhookOptions>,
  { store, metrics }: { readonly store: () => Store; readonly metrics: LedgerMetrics },
): void {
  const outcomes = { sent: 'ok', failed: 'failed', 'given-up': 'given-up' } as const;
  const name = 'budget-webhook';
  useOutbox(host).channels.set(name, {
    name,
    every: 0,
    timeout: webhook.timeout * 1000,
    isSingle: true,
    takes: ({ event }) => isEventPattern('budget.*', event),
    async send({ event, notices: [notice] }) {
      if (event === testEvent) return sendSigned(webhook, { event: 'test', at: new Date().toISOString() });
      const { warning } = factsSchema.parse(notice?.facts);
      await sendSigned(webhook, warning);
      await store().endWarning({ id: warning.id });
    },
    count: (outcome) => metrics.budgetWebhooks.inc({ outcome: outcomes[outcome] }),
  });
}

export interface Forwarding extends Pick<LedgerServiceOptions, 'store' | 'logger' | 'metrics'> {
  readonly notices: Host['notices'];
  /** Whether the webhook says when a warning is delivered. */
  readonly hasWebhook: boolean;
}

const lookEvery = 2000;
const together = 20;
/** Milliseconds after which another process takes a warning that this one took and did not end. */
const patience = 60_000;

/** Returns whether it is kept. */
async function raiseWarning(warning: Warning, { store, notices }: Forwarding): Promise<boolean> {
  const { id, event, scope, subject } = warning;
  const described = describeWarning(warning);
  const [key] = scope === 'key' ? await store.listKeys({ ids: [subject], limit: 1 }) : [];
  const account = scope === 'key' ? key?.account : subject;
  const accounts = scope === 'tag' ? [] : await listLine(store, account);
  return raiseNotice(
    notices,
    `budget.${event}`,
    { subject: `budget ${warning.budget}`, period: `warning ${id}`, accounts },
    { ...described.budget, name: key?.name || subject, warning: described },
  );
}

async function forwardWarning(warning: Warning, forwarding: Forwarding): Promise<void> {
  const { store, logger, metrics, notices, hasWebhook } = forwarding;
  const { id, attempts, event, threshold } = warning;
  if (attempts === 1) {
    metrics.budgetWarnings.inc({ event });
    const reached = event === 'exhausted' ? 'a budget refuses calls' : `a budget has reached ${threshold} %`;
    logger.warn(describeWarning(warning).budget, reached);
  }
  // By then the outbox has given it up.
  const end = warning.at + longestTry;
  const isOver = notices.outbox === undefined || Date.now() >= end;
  // What is not kept is taken again.
  if (!isOver && !(await raiseWarning(warning, forwarding))) return;
  await store.endWarning({ id, due: hasWebhook && !isOver ? end : undefined });
}

export async function forwardWarnings(forwarding: Forwarding): Promise<void> {
  const { store } = forwarding;
  const at = Date.now();
  if (!(await store.hasDueWarnings({ at }))) return;
  const due = await store.takeWarnings({ at, until: at + patience, limit: together });
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
