/** What crosses between the protocols, as the tests measured it. */
import type { Capabilities } from '../../../shared/replies/crossing.ts';
import { useData } from './api.ts';
import { column, type Column } from './columns.ts';
import { choice, inQuery } from './controls.ts';
import { html, useMemo } from './kit.ts';
import { badge, type Tone } from './parts.ts';
import { table } from './table.ts';

interface Row {
  readonly group: string;
  readonly name: string;
  readonly cells: Readonly<Record<string, string>>;
}

const tones: Readonly<Record<string, Tone>> = {
  works: 'good',
  approximated: 'warn',
  lost: 'bad',
  refused: 'bad',
};

const wires = ['chat-completions', 'responses', 'messages', 'generate-content'];

const columns: readonly Column<Row>[] = [
  column('Group', ({ group }) => group),
  column('Capability', ({ name }) => name),
  ...wires.map((wire) =>
    column<Row>(
      `To ${wire}`,
      ({ cells }) => cells[wire],
      ({ cells: { [wire]: outcome } }) =>
        outcome === undefined ? html`<span class="dim">–</span>` : badge(outcome, tones[outcome]),
    ),
  ),
];

export function CapabilityTable() {
  const { data, error, reload } = useData<Capabilities>('/admin/capabilities');
  const state = inQuery('client', 'chat-completions');
  const client = state.value;
  const rows = useMemo(
    () =>
      data?.groups.flatMap(({ name: group, capabilities }) =>
        capabilities.flatMap(({ name, cells }): Row[] => {
          const own = cells[client];
          return own ? [{ group, name, cells: own }] : [];
        }),
      ),
    [data, client],
  );
  return html`<p class="dim">
      Measured by real calls through the gateway to strict fakes of the providers. What is lost is always
      reported to the client; “–” means that one side has no word for it.
    </p>
    ${table({
      name: 'Capabilities',
      columns,
      rows,
      error,
      reload,
      empty: 'Nothing was measured for this protocol.',
      tools: choice('Protocol of the client', wires, state),
    })}`;
}
