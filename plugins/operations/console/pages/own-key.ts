/** What a key holder sees of the own key: balance, limits, usage by model and day, and calls. */
import { send } from './api.ts';
import { callColumns, type Call } from './call-columns.ts';
import { amountColumn, countColumn } from './columns.ts';
import { Time } from './format.ts';
import { html, useEffect, useMemo, useSignal } from './kit.ts';
import { Amount } from './money.ts';
import { Facts, Fault, Tile } from './parts.ts';
import { Table, type Column } from './table.ts';

interface Used {
  readonly day: string;
  readonly model: string | null;
  readonly calls: number;
  readonly errors: number;
  readonly input: number;
  readonly output: number;
  readonly cost: string;
}

interface OwnKey {
  readonly id: string;
  readonly name: string;
  readonly last_four: string;
  readonly account: string;
  readonly balance: Readonly<Record<'balance' | 'total' | 'used' | 'pending' | 'available', string>>;
  readonly limits: {
    readonly spend_cap: string | null;
    readonly spend_used: string;
    readonly spend_left: string | null;
    readonly models: readonly string[] | null;
    readonly expires: string | null;
    readonly calls_per_minute: number | null;
  };
  readonly usage: { readonly data: readonly Used[] };
}

const usageColumns: readonly Column<Used>[] = [
  { title: 'Day (UTC)', value: ({ day }) => day },
  {
    title: 'Model',
    value: ({ model }) => model,
    // A refused call may have none.
    cell: ({ model }) => model || html`<span class="dim">none</span>`,
  },
  countColumn('Calls', ({ calls }) => calls),
  countColumn('Errors', ({ errors }) => errors),
  countColumn('Input tokens', ({ input }) => input),
  countColumn('Output tokens', ({ output }) => output),
  amountColumn('Cost', ({ cost }) => cost),
];

/** Columns without links, which would lead to pages of operators. */
const ownColumns: readonly Column<Call>[] = callColumns
  .filter(({ title }) => title !== 'Account')
  .map((column) => {
    if (column.title === 'Started')
      return { ...column, cell: ({ started }: Call) => html`<${Time} at=${started} />` };
    const { cell: _cell, ...plain } = column;
    return column.title === 'Provider' ? plain : column;
  });

function Tiles({ own }: { readonly own: OwnKey | undefined }) {
  const limits = own?.limits;
  return html`<div class="tiles">
    <${Tile}
      label="Available"
      value=${html`<${Amount} usd=${own?.balance.available} />`}
      note="for new calls"
    />
    <${Tile} label="Held" value=${html`<${Amount} usd=${own?.balance.pending} />`} note="by running calls" />
    <${Tile} label="Spent by the account" value=${html`<${Amount} usd=${own?.balance.used} />`} />
    <${Tile}
      label="Spent by this key"
      value=${html`<${Amount} usd=${limits?.spend_used} />`}
      note=${limits?.spend_left ? html`<${Amount} usd=${limits.spend_left} /> left` : 'no cap'}
    />
  </div>`;
}

export function KeyView({ apiKey }: { readonly apiKey: string }) {
  const facts = useSignal<OwnKey | undefined>(undefined);
  const calls = useSignal<readonly Call[] | undefined>(undefined);
  const error = useSignal<Error | undefined>(undefined);
  const load = async (): Promise<void> => {
    const headers = { authorization: `Bearer ${apiKey}` };
    try {
      const [own, last] = await Promise.all([send('/v1/key', { headers }), send('/v1/calls', { headers })]);
      facts.value = await own.json();
      const page: { data: readonly Call[] } = await last.json();
      calls.value = page.data;
      error.value = undefined;
    } catch (fault) {
      error.value = fault instanceof Error ? fault : new Error(String(fault));
    }
  };
  useEffect(() => void load(), [apiKey]);
  const own = facts.value;
  const usage = useMemo(() => own?.usage.data.toReversed(), [own]);
  const limits = own?.limits;
  return html`<${Fault} error=${error.value} retry=${load} />
    <${Tiles} own=${own} />
    <section class="card">
      <div class="head">
        <h2>Key ${own?.name} …${own?.last_four}</h2>
        <button onClick=${load}>Reload</button>
      </div>
      <${Facts}
        of=${[
          ['Account', own?.account],
          ['Spend cap', limits && html`<${Amount} usd=${limits.spend_cap} />`],
          ['Models', limits && (limits.models?.join(', ') ?? 'all')],
          ['Expires', limits && (limits.expires ? html`<${Time} at=${limits.expires} />` : 'never')],
          ['Calls per minute', limits && (limits.calls_per_minute ?? 'no limit')],
        ]}
      />
    </section>
    <h2>Usage</h2>
    <${Table}
      name="Usage"
      columns=${usageColumns}
      rows=${usage}
      error=${error.value}
      empty="No call in the last 30 days."
    />
    <h2>Calls</h2>
    <${Table}
      name="My calls"
      columns=${ownColumns}
      rows=${calls.value}
      error=${error.value}
      rowKey=${({ id }: Call) => id}
      empty="This key has made no call yet."
    />`;
}
