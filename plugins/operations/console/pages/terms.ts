/** The dialogs of what is agreed with an account: when it is created, with its keys, and later. */
import type { AccountDetails, Allowance, NewKey } from '../../../shared/replies/accounts.ts';
import { call } from './api.ts';
import { openForm, type Field, type Values } from './form.ts';
import { formatDollars, renderTime } from './format.ts';
import { buildHref, go, html, openDialog } from './kit.ts';
import { renderCode } from './parts.ts';

const local = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Fields of an allowance, with the names that the API has for them. */
function buildAllowanceFields(allowance: Partial<Allowance> | null): Field[] {
  const { amount = '', per = 'month', mode = 'add', zone = local } = allowance ?? {};
  return [
    {
      name: 'amount',
      label: 'Allowance in USD',
      value: amount,
      placeholder: '100',
      hint: 'Credited at the start of each period. Leave empty for none.',
    },
    { name: 'per', label: 'For each', type: 'select', value: per, options: ['month', 'week', 'day'] },
    {
      name: 'mode',
      label: 'What is left of it',
      type: 'select',
      value: mode,
      options: [
        ['add', 'stays: the next one is added'],
        ['reset', 'is taken back before the next one'],
      ],
    },
    { name: 'zone', label: 'Time zone', value: zone },
  ];
}

function readAllowance({ amount, per, mode, zone }: Values) {
  return amount === undefined ? undefined : { amount, per, mode, zone };
}

/** Secrets that no later page can show. A step to another page would close them. */
function showSecrets(account: string, keys: readonly NewKey[]): void {
  openDialog(
    'Copy the secrets now',
    html`<p>Copy them now: they will not be shown again. The gateway stores only their hashes.</p>
      ${keys.map(
        ({ name, key }) =>
          html`<h3>${name}</h3>
            <div class="secret">${renderCode(key, 'Copy secret')}</div>`,
      )}
      <div class="row">
        <a class="button" href=${buildHref(['accounts', account])}>Done: open ${account}</a>
      </div>`,
  );
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
      ...buildAllowanceFields(null),
      {
        name: 'keys',
        label: 'Keys',
        placeholder: 'ada, bob, eve',
        hint: 'Optional: names of its first keys.',
      },
      { name: 'credit', label: 'Credit to add in USD', hint: 'Optional. Added once.' },
    ],
    submit: 'Create account',
    async send({ name = '', credit, keys = '', ...terms }) {
      const names = keys.split(',').map((each) => each.trim());
      const order = { name, parent, credit, allowance: readAllowance(terms), keys: names.filter(Boolean) };
      const made = await call('POST /admin/accounts', {}, order);
      if (made.keys.length > 0) showSecrets(name, made.keys);
      else go(['accounts', name]);
    },
  });
}

export function openTerms({ account, postpaid, allowance }: AccountDetails): void {
  openForm({
    title: `Terms of ${account}`,
    fields: [
      ...buildAllowanceFields(allowance),
      {
        name: 'postpaid',
        label: 'Pays later',
        type: 'checkbox',
        value: postpaid ? 'on' : '',
        hint: 'Its budgets limit it, and not its balance. One has to count it and refuse calls.',
      },
    ],
    submit: 'Save',
    send({ postpaid: pays, ...terms }) {
      const order = { postpaid: pays === 'on', allowance: readAllowance(terms) ?? null };
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
