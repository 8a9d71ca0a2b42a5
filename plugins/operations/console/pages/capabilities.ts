/** What crosses between the protocols, as the tests measured it. */
import { useData } from './api.ts';
import { buildColumn, type Column } from './columns.ts';
import { renderChoice, bindQuery } from './controls.ts';
import { html, useMemo } from './kit.ts';
import { renderBadge, type Tone } from './parts.ts';
import { renderTable } from './table.ts';

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
  buildColumn('Group', ({ group }) => group),
  buildColumn('Capability', ({ name }) => name),
  ...wires.map((wire) =>
    buildColumn<Row>(
      `To ${wire}`,
      ({ cells }) => cells[wire],
      ({ cells: { [wire]: outcome } }) =>
        outcome === undefined ? html`<span class="dim">–</span>` : renderBadge(outcome, tones[outcome]),
    ),
  ),
];

export function CapabilityTable() {
  const { data, error, reload } = useData('GET /admin/capabilities');
  const state = bindQuery('client', 'chat-completions');
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
      reported to the client; “–” means not applicable.
    </p>
    ${renderTable({
      name: 'Capabilities',
      columns,
      rows,
      error,
      reload,
      empty: 'There are no measurements for this protocol.',
      tools: renderChoice('Protocol of the client', wires, state),
    })}`;
}
