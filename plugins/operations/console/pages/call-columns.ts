/** What calls look like in tables. */
import type { CallDetail } from '../../../shared/replies/calls.ts';
import { amountColumn, column, figureColumn, type Column } from './columns.ts';
import { count, duration, when } from './format.ts';
import { html } from './kit.ts';
import { badge, type Tone } from './parts.ts';
import { href } from './router.ts';

type Names = 'id' | 'account' | 'model' | 'answered_by' | 'provider' | 'protocol' | 'stream' | 'error_code';

/** A stored call, or one that runs. */
export interface Call
  extends
    Pick<CallDetail, Names>,
    Pick<CallDetail, 'started' | 'first_event_ms' | 'input' | 'output' | 'cost'> {
  readonly outcome: string;
  readonly duration_ms: number | null;
}

const tones: Readonly<Record<string, Tone>> = {
  completed: 'good',
  replayed: 'good',
  running: 'plain',
  aborted: 'warn',
};

export function outcomeOf({ outcome, error_code: code }: Pick<Call, 'outcome' | 'error_code'>) {
  return html`${badge(outcome, tones[outcome] ?? 'bad')}
  ${code && html`<br /><span class="dim nowrap">${code}</span>`}`;
}

const linked = (title: string, name: 'account' | 'provider', below?: (call: Call) => string): Column<Call> =>
  column(
    title,
    (call) => `${call[name] ?? ''} ${below?.(call) ?? ''}`.trim(),
    (call) => {
      const link =
        call[name] && html`<a class="plain" href=${href('calls', { [name]: call[name] })}>${call[name]}</a>`;
      return below ? html`${link && html`${link}<br />`}<span class="dim">${below(call)}</span>` : link;
    },
    below && 'wide',
  );

export const callColumns: readonly Column<Call>[] = [
  column(
    'Started',
    ({ started }) => started,
    ({ id, started }) => html`<a href=${href(['calls', id])}>${when(started, 'exact')}</a>`,
  ),
  column(
    'Model',
    ({ model }) => model,
    ({ model, answered_by: by, stream }) =>
      html`${model ?? '–'}${by && by !== model && html`<br /><span class="dim">answered by ${by}</span>`}${
        stream && html` ${badge('stream')}`
      }`,
    'wide',
  ),
  column('Outcome', ({ outcome, error_code: code }) => `${outcome} ${code ?? ''}`, outcomeOf),
  linked('Account', 'account'),
  linked('Provider', 'provider', ({ protocol }) => protocol),
  figureColumn(
    'Duration',
    ({ duration_ms: ms }) => ms,
    ({ duration_ms: ms, first_event_ms: first }) =>
      html`${duration(ms)}${first !== null && html`<br /><span class="dim">first ${duration(first)}</span>`}`,
  ),
  figureColumn(
    'Tokens',
    ({ input, output }) => input + output,
    ({ input, output }) => `${count(input)} → ${count(output)}`,
  ),
  amountColumn('Cost', ({ cost }) => cost),
];
