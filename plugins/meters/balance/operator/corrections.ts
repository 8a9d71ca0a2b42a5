/**
 * Corrections of what an account was credited: adjustments in both directions, refunds of calls, chargebacks
 * of credits. Each has a reason and an author. A refund or a chargeback is made once.
 */
import { z } from 'zod';
import { formatUsd, parseUsd, usd, type Nano } from '../../../../core/index.ts';
import { roles } from '../../../shared/operations.ts';
import type { Replies } from '../../../shared/replies/routes.ts';
import type { Credit } from '../store.ts';
import { addCredit, shownAccount } from './accounts.ts';
import { defineOperation, type Ledger } from './operation.ts';
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

type Corrected = Replies['POST /admin/refunds'];

type Correction = Omit<Credit, 'at' | 'author'>;

async function addCorrection({ store, author }: Ledger, correction: Correction): Promise<Corrected> {
  const added = await addCredit(store, { ...correction, author });
  return { amount: formatUsd(correction.amount), ...added };
}

/** The reference of a call's refund, by which it is made once. */
export const nameRefund = (call: string): string => `refund:${call}`;

function formatCorrection({ account, amount: moved, balance, status }: Corrected): string {
  const again = status === 'already_credited' ? ' It was made before; nothing changed.' : '';
  return `${account}: ${moved} USD; the balance is ${balance} USD.${again}`;
}

const reasonFlag = { '--reason <text>': 'why; statements show it' };

export const correctionOperations = [
  defineOperation({
    route: 'POST /admin/adjustments',
    summary: 'Add to what an account was credited, or take from it, with a reason',
    roles: roles.correct,
    statuses: [200, 201],
    input: z.strictObject({
      account: accountName,
      amount: signedAmount,
      reason,
      reference: reference.optional(),
    }),
    run: (ledger, order) => addCorrection(ledger, { ...order, kind: 'adjustment' }),
    verbs: {
      'credit adjust <account> <usd>': {
        description: 'add to an account, or take from it with a negative amount',
        flags: {
          '<usd>': { field: 'amount' },
          ...reasonFlag,
          '--reference <text>': 'an id of your own: an adjustment is made once for it',
        },
        async ask({ call }, { args: { account: name = '', usd: moved = '' } }) {
          if (!moved.startsWith('-')) return undefined;
          const { account, balance } = await call(shownAccount, { params: { account: name } });
          const taken = formatUsd(-parseUsd(moved));
          return `Take ${taken} USD from the account "${account}", which has ${balance} USD?`;
        },
        format: formatCorrection,
      },
    },
  }),
  defineOperation({
    route: 'POST /admin/refunds',
    summary: 'Give back what a call cost, or a part of it, once',
    roles: roles.correct,
    statuses: [200, 201],
    input: z.strictObject({
      call: z.string().min(1).max(200),
      /** USD; all that the call cost unless given. */
      amount: amount.optional(),
      reason,
    }),
    async run(ledger, { call, amount: stated, reason: why }) {
      const entries = await ledger.store.listEntries({ call, limit: 20 });
      const [first] = entries;
      if (!first) throw buildRefusal('not_found', `there is no call "${call}" in the books`, 'call');
      const cost = entries.reduce<Nano>((sum, { revenue }) => sum + revenue, 0n);
      const refunded = stated ?? cost;
      if (refunded > cost || cost === 0n)
        throw buildRefusal('invalid_request', `the call cost ${formatUsd(cost)} USD`, 'amount');
      const refund = { kind: 'refund', amount: refunded, reference: nameRefund(call), reason: why } as const;
      return addCorrection(ledger, { account: first.account, ...refund });
    },
    verbs: {
      'credit refund <call>': {
        description: 'give back what a call cost, once',
        flags: { '--amount <usd>': 'only a part of it', ...reasonFlag },
        format: formatCorrection,
      },
    },
  }),
  defineOperation({
    route: 'POST /admin/chargebacks',
    summary: 'Take back a credit whose payment was reversed, once',
    details: 'The balance may become negative.',
    roles: roles.correct,
    statuses: [200, 201],
    input: z.strictObject({
      reference,
      reason,
    }),
    async run(ledger, { reference: known, reason: why }) {
      const [credit] = await ledger.store.listEntries({ reference: known, limit: 1 });
      if (!credit)
        throw buildRefusal('not_found', `there is no credit with the reference "${known}"`, 'reference');
      if (credit.available <= 0n)
        throw buildRefusal('invalid_request', `"${known}" took credit back itself`, 'reference');
      const { account, available } = credit;
      const taken = { kind: 'chargeback', amount: -available, reference: `chargeback:${known}` } as const;
      return addCorrection(ledger, { account, ...taken, reason: why });
    },
    verbs: { 'credit chargeback <reference>': { flags: reasonFlag, format: formatCorrection } },
  }),
];
