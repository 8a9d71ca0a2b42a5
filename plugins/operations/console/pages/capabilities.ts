/** What crosses between the protocols, as the tests measured it. */
import { useData } from './api.ts';
import { html, useMemo } from './kit.ts';
import { Badge, Choice, Fault } from './parts.ts';
import { setQuery } from './router.ts';
import { Table, type Column } from './table.ts';

interface Capabilities {
  readonly groups: readonly {
    readonly name: string;
    readonly capabilities: readonly {
      readonly name: string;
      readonly cells: Readonly<Record<string, Readonly<Record<string, string>>>>;
    }[];
  }[];
}

interface Row {
  readonly group: string;
  readonly name: string;
  readonly cells: Readonly<Record<string, string>>;
}

const tones: Readonly<Record<string, 'good' | 'warn' | 'bad' | 'plain'>> = {
  works: 'good',
  approximated: 'warn',
  lost: 'bad',
  refused: 'bad',
};

export const wires = ['chat-completions', 'responses', 'messages', 'generate-content'] as const;

const columns: readonly Column<Row>[] = [
  { title: 'Of', value: ({ group }) => group },
  { title: 'Capability', value: ({ name }) => name },
  ...wires.map((wire) => ({
    title: `To ${wire}`,
    value: ({ cells }: Row) => cells[wire],
    cell: ({ cells }: Row) =>
      cells[wire] === undefined
        ? html`<span class="dim">–</span>`
        : html`<${Badge} tone=${tones[cells[wire]] ?? 'plain'}>${cells[wire]}</${Badge}>`,
  })),
];

export function CapabilityTable({ client }: { readonly client: string }) {
  const { data, error, reload } = useData<Capabilities>('/admin/capabilities');
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
    <${Fault} error=${error} retry=${reload} />
    <${Table}
      name="Capabilities"
      columns=${columns}
      rows=${rows}
      error=${error}
      empty="Nothing was measured for this protocol."
      tools=${html`<${Choice}
        label="Protocol of the client"
        options=${wires.map((wire) => [wire, wire])}
        value=${client}
        onChange=${(value: string) => setQuery({ client: value })}
      />`}
    />`;
}
