/**
 * Corrections of what an account was credited: adjustments in both directions, refunds of calls, chargebacks
 * of credits. Each has a reason and an author. A refund or a chargeback is made once.
 */
import { z } from 'zod';
import { formatUsd, usd, type Nano } from '../../../../core/index.ts';
import type { Credit, Store } from '../store.ts';
import { requireBalance, buildAccountError, type ShownBalance } from './accounts.ts';
import { accountName, amount, largestAmount, reference } from './reading.ts';
import { buildRefusal } from './replies.ts';

const reason = z.string('say why').trim().min(1, 'say why').max(500, 'a reason has at most 500 characters');

/** A signed amount in USD: `-2.5` takes credit back. */
const signedAmount = usd
  .refine((nano) => nano !== 0n, 'the amount must not be 0')
  .refine(
    (nano) => nano <= largestAmount && nano >= -largestAmount,
    `the amount is at most ${formatUsd(largestAmount)} USD`,
  );

export const adjustmentOrder = z.strictObject({
  account: accountName,
  amount: signedAmount,
  reason,
  reference: reference.optional(),
});
export const refundOrder = z.strictObject({
  call: z.string().min(1).max(200),
  /** USD; all that the call cost unless given. */
  amount: amount.optional(),
  reason,
});
export const chargebackOrder = z.strictObject({
  /** The reference of the credit that is taken back. */
  reference,
  reason,
});

export type Corrected = ShownBalance & {
  readonly status: 'credited' | 'already_credited';
  readonly amount: string;
};

interface Author {
  readonly author: string;
}

async function addCorrection(store: Store, credit: Credit): Promise<Corrected> {
  const status = await store.addCredit(credit);
  if (status === 'not_found') throw buildAccountError(credit.account);
  if (status === 'reference_taken')
    throw buildRefusal(
      'conflict',
      `the reference "${credit.reference}" belongs to another correction`,
      'reference',
    );
  if (status === 'too_much')
    throw buildRefusal('invalid_request', 'an account cannot hold so much', 'amount');
  return { status, amount: formatUsd(credit.amount), ...(await requireBalance(store, credit.account)) };
}

/** Adds to what an account was credited, or takes from it. */
export function adjustCredit(
  store: Store,
  { account, amount: moved, reason: why, reference: known }: z.output<typeof adjustmentOrder>,
  { author }: Author,
): Promise<Corrected> {
  const credit = { account, amount: moved, kind: 'adjustment', reference: known } as const;
  return addCorrection(store, { ...credit, reason: why, author, at: Date.now() });
}

/** The reference of a call's refund, by which it is made once. */
export const nameRefund = (call: string): string => `refund:${call}`;

/** Gives back what a call cost, or a part of it, once. */
export async function refundCall(
  store: Store,
  { call, amount: stated, reason: why }: z.output<typeof refundOrder>,
  { author }: Author,
): Promise<Corrected> {
  const entries = await store.listEntries({ call, limit: 20 });
  const [first] = entries;
  if (!first) throw buildRefusal('not_found', `there is no call "${call}" in the books`, 'call');
  const cost = entries.reduce<Nano>((sum, { revenue }) => sum + revenue, 0n);
  const refunded = stated ?? cost;
  if (refunded > cost || cost === 0n)
    throw buildRefusal('invalid_request', `the call cost ${formatUsd(cost)} USD`, 'amount');
  const { account } = first;
  const credit = { account, amount: refunded, kind: 'refund', reference: nameRefund(call) } as const;
  return addCorrection(store, { ...credit, reason: why, author, at: Date.now() });
}

/** Takes back a credit whose payment was reversed, once. The balance may become negative. */
export async function chargeBackCredit(
  store: Store,
  { reference: known, reason: why }: z.output<typeof chargebackOrder>,
  { author }: Author,
): Promise<Corrected> {
  const [credit] = await store.listEntries({ reference: known, limit: 1 });
  if (!credit)
    throw buildRefusal('not_found', `there is no credit with the reference "${known}"`, 'reference');
  if (credit.available <= 0n)
    throw buildRefusal('invalid_request', `"${known}" took credit back itself`, 'reference');
  const { account, available } = credit;
  const reference = `chargeback:${known}`;
  const taken = { account, amount: -available, kind: 'chargeback', reference } as const;
  return addCorrection(store, { ...taken, reason: why, author, at: Date.now() });
}
