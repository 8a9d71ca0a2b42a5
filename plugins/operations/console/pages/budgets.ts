/** Budgets: what a key, an account, a team or a tag may spend in a period, and how much of it is left. */
import { api, session } from './api.ts';
import { Form, type Field, type Values } from './form.ts';
import { Time } from './format.ts';
import { closeDialog, html, openDialog } from './kit.ts';
import { useList } from './lists.ts';
import { Amount, nano } from './money.ts';
import { Badge, confirmThat, Fault } from './parts.ts';
import { RowMenu } from './row-menu.ts';
import { Table, type Column } from './table.ts';

interface Budget {
  readonly id: number;
  readonly scope: string;
  readonly subject: string;
  readonly per: string;
  readonly zone: string;
  readonly limit: string;
  readonly hard: boolean;
  readonly thresholds: readonly number[];
  readonly raises: readonly { readonly amount: string; readonly until: string | null }[];
  readonly deleted: string | null;
  readonly current: {
    readonly resets: string | null;
    readonly allowed: string;
    readonly used: string;
    readonly pending: string;
    readonly left: string;
    /** The highest threshold that its use has reached; 0: none. */
    readonly reached: number;
  };
}

const terms = (budget?: Budget): Field[] => [
  { name: 'limit', label: 'Limit in USD', isRequired: true, value: budget?.limit ?? '' },
  {
    name: 'hard',
    label: 'Refuse calls beyond it',
    type: 'checkbox',
    value: (budget?.hard ?? true) ? 'on' : '',
    hint: 'Otherwise it only warns.',
  },
  {
    name: 'thresholds',
    label: 'Warn at per cent',
    value: (budget?.thresholds ?? [50, 80, 100]).join(', '),
  },
];

function readTerms({ limit, hard, thresholds = '' }: Values): object {
  return {
    limit,
    hard: hard === 'on',
    thresholds: thresholds
      .split(/[\s,]+/)
      .filter(Boolean)
      .map(Number),
  };
}

function openNew(account: string | undefined, done: () => void): void {
  const whose: Field[] = [
    { name: 'scope', label: 'Whose', type: 'select', options: ['account', 'key', 'team', 'tag'] },
    {
      name: 'subject',
      label: 'Name',
      isRequired: true,
      hint: 'Of the account, team or tag; a key by its id.',
    },
  ];
  openDialog(
    account === undefined ? 'Create a budget' : `Create a budget for ${account}`,
    html`<${Form}
      fields=${[
        ...(account === undefined ? whose : []),
        {
          name: 'per',
          label: 'For each',
          type: 'select',
          value: 'month',
          options: ['hour', 'day', 'week', 'month', 'total'],
        },
        {
          name: 'zone',
          label: 'Time zone of its periods',
          value: Intl.DateTimeFormat().resolvedOptions().timeZone,
          isRequired: true,
        },
        ...terms(),
      ]}
      submit="Create budget"
      onSubmit=${async ({ scope = 'account', subject = account ?? '', per, zone, ...values }: Values) => {
        await api.post('/admin/budgets', { scope, subject, per, zone, ...readTerms(values) });
        closeDialog();
        done();
      }}
    />`,
  );
}

const addressOf = ({ id }: Budget): string => `/admin/budgets/${id}`;

function openChange(budget: Budget, done: () => void): void {
  openDialog(
    `Change budget ${budget.id}`,
    html`<${Form}
        fields=${terms(budget)}
        submit="Save"
        onSubmit=${async (values: Values) => {
          await api.patch(addressOf(budget), readTerms(values));
          closeDialog();
          done();
        }}
      />
      <h3>Raise it for a time</h3>
      <${Form}
        fields=${[
          { name: 'amount', label: 'More in USD', isRequired: true },
          { name: 'until', label: 'Until', type: 'datetime-local', isRequired: true },
        ]}
        submit="Raise"
        onSubmit=${async ({ amount, until = '' }: Values) => {
          await api.post(`${addressOf(budget)}/raises`, { amount, until: new Date(until).toISOString() });
          closeDialog();
          done();
        }}
      />`,
  );
}

function Use({ budget }: { readonly budget: Budget }) {
  const { used, pending, allowed, reached } = budget.current;
  const all = nano(allowed);
  const taken = nano(used) + nano(pending);
  const share = all === 0n ? 100 : Number((taken * 100n) / all);
  return html`<meter min="0" max="100" high="80" value=${share} aria-label=${`${share} % used`}></meter>
    ${share} %
    ${reached > 0 && html`<${Badge} tone=${reached < 100 ? 'warn' : 'bad'}>${reached} % reached</${Badge}>`}`;
}

function Actions({ of, done }: { readonly of: Budget; readonly done: () => void }) {
  if (session.value?.readOnly) return null;
  const remove = (): void =>
    confirmThat(`Delete budget ${of.id}?`, 'Calls are no longer counted against it.', 'Delete', () =>
      api.delete(addressOf(of)).then(done),
    );
  return html`<${RowMenu}
    id=${`menu-${of.id}`}
    label=${`Actions for budget ${of.id}`}
    items=${[
      { title: 'Change', act: () => openChange(of, done) },
      { title: 'Delete', act: remove },
    ]}
  />`;
}

const money = (title: string, value: (budget: Budget) => string): Column<Budget> => ({
  title,
  value,
  cell: (budget) => html`<${Amount} usd=${value(budget)} />`,
  isFigure: true,
});

const columnsOf = (done: () => void): Column<Budget>[] => [
  {
    title: 'Budget',
    value: ({ scope, subject, per }) => `${scope} ${subject} ${per}`,
    cell: ({ scope, subject, per, hard }) =>
      html`<span class="dim">${scope}</span> ${subject}
        <span class="dim">${per === 'total' ? 'in all' : `each ${per}`}</span>
        ${!hard && html` <${Badge}>only warns</${Badge}>`}`,
  },
  money('Limit', ({ limit }) => limit),
  money('Used', ({ current }) => current.used),
  money('Held', ({ current }) => current.pending),
  money('Left', ({ current }) => current.left),
  { title: 'Use', value: ({ current }) => current.used, cell: (budget) => html`<${Use} budget=${budget} />` },
  {
    title: 'Resets',
    value: ({ current }) => current.resets,
    cell: ({ current }) => html`<${Time} at=${current.resets} brief=${true} />`,
  },
  { title: '', value: () => null, cell: (budget) => html`<${Actions} of=${budget} done=${done} />` },
];

/** Budgets of one account, or all. */
export function Budgets({ account }: { readonly account?: string }) {
  const whose = account === undefined ? {} : { scope: 'account', subject: account };
  const { rows, error, reload, more } = useList<Budget>('/admin/budgets', whose);
  return html`<${Fault} error=${error} retry=${reload} />
    <${Table}
      name="Budgets"
      columns=${columnsOf(reload)}
      rows=${rows?.filter(({ deleted }) => deleted === null)}
      error=${error}
      rowKey=${({ id }: Budget) => String(id)}
      more=${more}
      tools=${
        !session.value?.readOnly &&
        html`<button onClick=${() => openNew(account, reload)}>New budget</button>`
      }
      empty="There is no budget. A budget limits what may be spent in a period, besides the balance."
    />`;
}
