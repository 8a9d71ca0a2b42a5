/** What calls look like in tables. */
import { amountColumn } from './columns.ts';
import { count, duration, Time } from './format.ts';
import { html } from './kit.ts';
import { Badge } from './parts.ts';
import { href } from './router.ts';
import type { Column } from './table.ts';

export interface Call {
  readonly id: string;
  readonly started: string;
  /** Missing while it runs. */
  readonly ended?: string;
  readonly account: string | null;
  readonly key: string | null;
  readonly protocol: string;
  readonly operation: string;
  readonly stream: boolean;
  readonly model: string | null;
  readonly answered_by: string | null;
  readonly provider: string | null;
  readonly outcome: string;
  readonly status: number | null;
  readonly error_code: string | null;
  readonly first_event_ms: number | null;
  readonly duration_ms: number | null;
  readonly attempts: number;
  readonly input: number;
  readonly output: number;
  readonly cached: number;
  readonly reasoning: number;
  readonly cost: string;
  readonly vendor_cost?: string;
  readonly margin?: string;
  readonly cost_basis: string;
  readonly flags?: readonly string[];
  readonly tags?: Readonly<Record<string, string>>;
}

const tones: Readonly<Record<string, string>> = {
  completed: 'good',
  replayed: 'good',
  running: 'plain',
  aborted: 'warn',
};

export function Outcome({ call }: { readonly call: Pick<Call, 'outcome' | 'error_code'> }) {
  const { outcome, error_code: code } = call;
  return html`<${Badge} tone=${tones[outcome] ?? 'bad'}>${outcome}</${Badge}>
    ${code && html`<br /><span class="dim nowrap">${code}</span>`}`;
}

const linked = (
  title: string,
  name: 'account' | 'key',
  value: (call: Call) => string | null,
): Column<Call> => ({
  title,
  value,
  cell: (call) => {
    const text = value(call);
    return text && html`<a class="plain" href=${href('calls', { [name]: text })}>${text}</a>`;
  },
});

export const callColumns: readonly Column<Call>[] = [
  {
    title: 'Started',
    value: ({ started }) => started,
    cell: ({ id, started }) =>
      html`<a href=${href(['calls', id])}><${Time} at=${started} exact=${true} /></a>`,
  },
  {
    title: 'Model',
    isWide: true,
    value: ({ model }) => model,
    cell: ({ model, answered_by: by, stream }) =>
      html`${model ?? '–'}${by && by !== model && html`<br /><span class="dim">answered by ${by}</span>`}${
        stream && html` <${Badge}>stream</${Badge}>`
      }`,
  },
  {
    title: 'Outcome',
    value: ({ outcome, error_code: code }) => `${outcome} ${code ?? ''}`,
    cell: (call) => html`<${Outcome} call=${call} />`,
  },
  linked('Account', 'account', ({ account }) => account),
  {
    title: 'Provider',
    value: ({ provider, protocol }) => `${provider ?? ''} ${protocol}`.trim(),
    cell: ({ provider, protocol }) =>
      html`${
          provider && html`<a class="plain" href=${href('calls', { provider })}>${provider}</a><br />`
        }<span class="dim">${protocol}</span>`,
    isWide: true,
  },
  {
    title: 'Duration',
    value: ({ duration_ms: ms }) => ms,
    cell: ({ duration_ms: ms, first_event_ms: first }) =>
      html`${duration(ms)}${first !== null && html`<br /><span class="dim">first ${duration(first)}</span>`}`,
    isFigure: true,
  },
  {
    title: 'Tokens',
    value: ({ input, output }) => input + output,
    cell: ({ input, output }) => `${count(input)} → ${count(output)}`,
    isFigure: true,
  },
  amountColumn('Cost', ({ cost }) => cost),
];
