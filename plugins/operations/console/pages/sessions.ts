/** Calls by the session of an agent, or by another tag: what each cost, and what its client lost. */
import type { Sessions } from '../../../shared/replies/spending.ts';
import { useData } from './api.ts';
import { bindQuery, renderChoice, renderInput } from './form.ts';
import { formatCount, formatDuration, formatPercent, formatThings, nameClient } from './format.ts';
import { buildHref, html, type Place } from './kit.ts';
import { renderBadge, renderHead, renderTiles } from './parts.ts';
import { buildColumn, type Column, renderTable } from './table.ts';

type Session = Sessions['data'][number];
type Lost = Sessions['losses'][number];

const hour = 3_600_000;
const ranges = [
  ['1h', '1 h', hour],
  ['24h', '24 h', 24 * hour],
  ['7d', '7 d', 7 * 24 * hour],
  ['30d', '30 d', 30 * 24 * hour],
] as const;

const computeLength = ({ first, last }: Session): number | null =>
  first === null ? null : Date.parse(last) - Date.parse(first);

const columns: readonly Column<Session>[] = [
  buildColumn('Session', 'name', ({ tag, name }) => html`<a href=${buildHref('calls', { tag })}>${name}</a>`),
  buildColumn('Client', ({ clients }) => clients.map(nameClient).join(', ')),
  buildColumn<Session>(
    'Key, account',
    ({ key, key_name: name, account }) => `${name || (key ?? '')} ${account ?? ''}`.trim(),
    ({ key, key_name: name, account }) =>
      key &&
      html`<a href=${buildHref('calls', { key })}>${name || key}</a>,${' '}
        <a href=${buildHref(['accounts', account ?? ''])}>${account}</a>`,
  ),
  buildColumn('Cost', 'cost', 'amount'),
  buildColumn(
    'Calls',
    'calls',
    ({ calls, errors }) =>
      html`${formatCount(calls)}${errors > 0 && html` ${renderBadge(formatThings(errors, 'error'), 'bad')}`}`,
    'figure',
  ),
  buildColumn(
    'From cache',
    ({ cached, input }) => (input === 0 ? null : cached / input),
    ({ cached, input }) => formatPercent(cached, input),
    'figure',
  ),
  buildColumn('Losses', 'losses', 'count'),
  buildColumn('Lasted', computeLength, 'duration'),
  buildColumn('Last call', 'last', 'time'),
];

const lossColumns: readonly Column<Lost>[] = [
  buildColumn(
    'What',
    ({ client, field, provider }) => `${nameClient(client)} loses ${field} at ${provider}`,
    ({ client, field, provider }) =>
      html`${nameClient(client)} loses <code>${field}</code> ${`at ${provider}`}`,
    'wide',
  ),
  buildColumn('Why', 'reason', undefined, 'wide'),
  buildColumn('Calls', 'calls', 'count'),
  buildColumn(
    'Example',
    'example',
    ({ example }) => html`<a href=${buildHref(['calls', example])}>open a call</a>`,
  ),
];

function renderTotals({ data, others }: Sessions) {
  const sum = (read: (session: Session) => number): number => data.reduce((all, each) => all + read(each), 0);
  const lengths = data.flatMap((each) => computeLength(each) ?? []).toSorted((one, other) => one - other);
  return renderTiles(
    [
      'Sessions',
      formatCount(data.length + others),
      others > 0 && `the ${formatCount(data.length)} dearest below`,
    ],
    ['Calls', formatCount(sum(({ calls }) => calls)), 'of those below'],
    [
      'From cache',
      formatPercent(
        sum(({ cached }) => cached),
        sum(({ input }) => input),
      ),
      'of the input tokens',
    ],
    ['Lasts', formatDuration(lengths[Math.floor(lengths.length / 2)]), 'the median'],
  );
}

export function Page({ place: { query } }: { readonly place: Place }) {
  const rangeState = bindQuery('range', '24h');
  const [, , length] = ranges.find(([key]) => key === rangeState.value) ?? ranges[1];
  const tag = query['tag'] ?? 'session';
  // In steps of a minute, so that drawing again does not ask again.
  const from = new Date(Math.floor((Date.now() - length) / 60_000) * 60_000).toISOString();
  const { data, error } = useData('GET /admin/sessions', { tag, from }, { every: 60_000 });
  const named = ranges.map(([key, label]) => [key, label] as const);
  const tools = html`${renderInput('Tag', bindQuery('tag', 'session'))}
  ${renderChoice('Range', named, rangeState)}`;
  return html`${renderHead('Sessions', tools)} ${data && renderTotals(data)}
    ${renderTable({
      name: 'Sessions',
      isCompact: true,
      columns,
      rows: data?.data,
      error,
      getKey: (each) => each.tag,
      empty:
        tag === 'session'
          ? 'No sessions in this range. Agents name theirs, others can: x-tollgate-tags: session:name.'
          : `No calls in this range have the tag “${tag}”.`,
    })}
    <h2>What clients lose</h2>
    ${renderTable({
      name: 'Losses of clients',
      columns: lossColumns,
      rows: data?.losses ?? (error && []),
      isPlain: true,
      empty: 'Nothing was lost in the newest calls of these sessions.',
    })}`;
}
