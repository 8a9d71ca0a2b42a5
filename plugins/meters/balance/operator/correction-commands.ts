/** The verbs for corrections, the state of accounts, and the log of operators' actions. */
import { formatTable, formatUsd, type CommandOption, type CommandResult } from '../../../../core/index.ts';
import { readInput } from '../../../shared/operator-routes.ts';
import { accountChanges, changeAccount, requireBalance } from './accounts.ts';
import { actionQuery, listActions } from './actions.ts';
import {
  adjustCredit,
  adjustmentOrder,
  chargeBackCredit,
  chargebackOrder,
  refundCall,
  refundOrder,
  type Corrected,
} from './corrections.ts';
import { toNumeric, type Options, type Verb } from './verbs.ts';

const reasonOption: CommandOption = { flags: '--reason <text>', description: 'why; statements show it' };

function readAdjustment([account, amount]: readonly string[], { reason, reference }: Options) {
  return readInput(adjustmentOrder, { account, amount, reason, reference });
}

function describeCorrected(made: Corrected): CommandResult {
  const { account, amount, balance, status } = made;
  const again = status === 'already_credited' ? ' It was made before; nothing changed.' : '';
  return { json: made, text: `${account}: ${amount} USD; the balance is ${balance} USD.${again}` };
}

function buildStateVerb(verb: string, state: string, description: string, more: Partial<Verb> = {}): Verb {
  return {
    ...more,
    name: `accounts ${verb} <name>`,
    description,
    changes: true,
    async run({ store }, [name = '']) {
      const changed = await changeAccount(store, name, readInput(accountChanges, { state }));
      return { json: changed, text: `${name} is ${changed.state}.` };
    },
  };
}

export const correctionVerbs: readonly Verb[] = [
  {
    name: 'credit adjust <account> <usd>',
    description: 'add to an account, or take from it with a negative amount',
    changes: true,
    options: [
      reasonOption,
      { flags: '--reference <text>', description: 'what it is known by elsewhere: it is made once' },
    ],
    async confirm(store, args, options) {
      const order = readAdjustment(args, options);
      if (order.amount >= 0n) return undefined;
      const { account, balance } = await requireBalance(store, order.account);
      return `Take ${formatUsd(-order.amount)} USD from the account "${account}", which has ${balance} USD?`;
    },
    run: async (bench, args, options) =>
      describeCorrected(await adjustCredit(bench.store, readAdjustment(args, options), bench)),
  },
  {
    name: 'credit refund <call>',
    description: 'give back what a call cost, once',
    changes: true,
    options: [{ flags: '--amount <usd>', description: 'only a part of it' }, reasonOption],
    run: async (bench, [call], { amount, reason }) =>
      describeCorrected(
        await refundCall(bench.store, readInput(refundOrder, { call, amount, reason }), bench),
      ),
  },
  {
    name: 'credit chargeback <reference>',
    description: 'take back a credit whose payment was reversed, once',
    changes: true,
    options: [reasonOption],
    run: async (bench, [reference], { reason }) =>
      describeCorrected(
        await chargeBackCredit(bench.store, readInput(chargebackOrder, { reference, reason }), bench),
      ),
  },
  buildStateVerb('disable', 'disabled', 'refuse all keys of an account from now on'),
  buildStateVerb('enable', 'open', 'accept the keys of a disabled account again'),
  buildStateVerb('close', 'closed', 'refuse all keys of an account for good; it gets no new keys', {
    async confirm(store, [name = '']) {
      const { account, balance } = await requireBalance(store, name);
      return `Close the account "${account}", which has ${balance} USD? Its keys stop working for good.`;
    },
  }),
  {
    name: 'actions list',
    description: 'show what operators changed, newest first',
    options: [{ flags: '--limit <count>', description: 'how many (100 unless given)' }],
    async run({ store }, _, { limit }) {
      const { data } = await listActions(store, readInput(actionQuery, { limit: toNumeric(limit) }));
      const rows = data.map(({ at, author, action, subject, detail }) => [
        at,
        author,
        action,
        subject,
        detail,
      ]);
      const headings = ['AT', 'AUTHOR', 'ACTION', 'SUBJECT', 'DETAIL'];
      return { json: data, text: rows.length > 0 ? formatTable(headings, rows) : 'There are no actions.' };
    },
  },
];
