/** The dialogs of what is agreed with an account: when it is created, with its keys, and later. */
import type { AccountDetails } from '../../../shared/replies/accounts.ts';
import { call } from './api.ts';
import { openForm, splitNames, type Field, type Values } from './form.ts';
import { formatDollars, renderTime } from './format.ts';
import { buildHref, go, html } from './kit.ts';
import { openSecrets } from './secrets.ts';

const local = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Fields of an allowance, with the names that the API has for them. */
const allowanceFields: readonly Field[] = [
  {
    name: 'amount',
    label: 'Allowance in USD',
    placeholder: '100',
    hint: 'Credited at the start of each period. Leave empty for none.',
  },
  { name: 'per', label: 'For each', type: 'select', options: ['month', 'week', 'day'] },
  {
    name: 'mode',
    label: 'What is left of it',
    type: 'select',
    options: [
      ['add', 'stays: the next one is added'],
      ['reset', 'is taken back before the next one'],
    ],
  },
  { name: 'zone', label: 'Time zone' },
];

function readAllowance({ amount, per, mode, zone }: Values) {
  return amount === undefined ? undefined : { amount, per, mode, zone };
}

export function openNewAccount(parent?: string): void {
  openForm({
    title: parent === undefined ? 'Create an account' : `Create an account in ${parent}`,
    fields: [
      {
        name: 'name',
        label: 'Name',
        isRequired: true,
        hint: 'Letters, digits and . _ - @ : + are allowed. The name cannot be changed later.',
      },
      ...allowanceFields,
      {
        name: 'keys',
        label: 'Keys',
        placeholder: 'ada, bob, eve',
        hint: 'Optional: names of its first keys.',
      },
      { name: 'credit', label: 'Credit to add in USD', hint: 'Optional. Added once.' },
    ],
    values: { zone: local },
    submit: 'Create account',
    async send({ name, credit, keys, ...terms }) {
      const order = { name, parent, credit, allowance: readAllowance(terms), keys: splitNames(keys) };
      const { account, keys: made } = await call('POST /admin/accounts', {}, order);
      const page = buildHref(['accounts', account]);
      // A step to another page would close the secrets.
      if (made.length > 0)
        openSecrets(
          'Copy the secrets now',
          'Copy them now: they will not be shown again. The gateway stores only their hashes.',
          made.map((key) => [key.name, key.key]),
          html`<div class="row"><a class="button" href=${page}>Done: open ${account}</a></div>`,
        );
      else go(['accounts', account]);
    },
  });
}

export function openTerms({ account, postpaid, allowance }: AccountDetails): void {
  openForm({
    title: `Terms of ${account}`,
    fields: [
      ...allowanceFields,
      {
        name: 'postpaid',
        label: 'Pays later',
        type: 'checkbox',
        hint: 'Its budgets limit it, and not its balance. One has to count it and refuse calls.',
      },
    ],
    values: { zone: local, ...allowance, postpaid },
    submit: 'Save',
    send({ postpaid: pays, ...terms }) {
      const order = { postpaid: pays, allowance: readAllowance(terms) ?? null };
      return call('PATCH /admin/accounts/:account/terms', { account }, order);
    },
  });
}

/** `$100.00 each month, next 1 Dec 2026`; nothing if nothing is agreed. */
export function renderTerms({ postpaid, allowance }: Pick<AccountDetails, 'postpaid' | 'allowance'>) {
  if (!allowance) return postpaid ? 'pays later' : '';
  const { amount, per, mode, next } = allowance;
  const reset = mode === 'reset' ? ' (what is left is taken back)' : '';
  const agreed = `${postpaid ? 'pays later; ' : ''}${formatDollars(amount)} each ${per}${reset}`;
  return html`${agreed}${next !== null && html`, next ${renderTime(next, 'brief')}`}`;
}
