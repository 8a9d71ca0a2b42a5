/** The configuration in force, what a reload would change, and the reload. The gateway masks secrets. */
import { api, session, useData } from './api.ts';
import { Time } from './format.ts';
import { html, messageOf, notify, useSignal } from './kit.ts';
import { Badge, Facts, Fault, Head } from './parts.ts';
import { Table, type Column } from './table.ts';

type Value = string | number | boolean | null | undefined;

interface Option {
  readonly path: string;
  readonly value?: Value;
  readonly isDefault: boolean;
  readonly isSecret: boolean;
}

interface View {
  readonly file: string;
  readonly dataFolder: string;
  readonly version: string;
  readonly node: string;
  readonly workers: number;
  readonly readAt: string;
  readonly settings: readonly Option[];
  readonly plugins: readonly {
    readonly name: string;
    readonly off?: string;
    readonly options: readonly Option[];
  }[];
  readonly warnings: readonly string[];
}

interface Change {
  readonly path: string;
  readonly before?: Value;
  readonly after?: Value;
  readonly isSecret: boolean;
}

interface Check {
  readonly ok: boolean;
  readonly fault?: string;
  readonly changes?: {
    readonly settings: readonly Change[];
    readonly added: readonly string[];
    readonly removed: readonly string[];
    readonly isReordered: boolean;
    readonly changed: readonly { readonly plugin: string; readonly options: readonly Change[] }[];
  };
  readonly warnings: readonly string[];
  readonly waiting: readonly string[];
}

interface Reloaded {
  readonly ok: boolean;
  readonly fault?: string;
  readonly waiting: readonly string[];
  readonly workers: number;
}

interface Row extends Option {
  readonly owner: string;
}

function shown(value: Value, isSecret: boolean): string {
  if (isSecret) return 'hidden';
  return value === undefined ? '–' : String(value);
}

const columns: readonly Column<Row>[] = [
  { title: 'Of', value: ({ owner }) => owner },
  { title: 'Option', value: ({ path }) => path, cell: ({ path }) => html`<code>${path}</code>` },
  {
    title: 'Value',
    value: ({ value, isSecret }) => shown(value, isSecret),
    cell: ({ value, isSecret }) =>
      isSecret ? html`<${Badge}>hidden</${Badge}>` : html`<span class="mono">${shown(value, false)}</span>`,
  },
  { title: 'From', value: ({ isDefault }) => (isDefault ? 'default' : 'configuration') },
];

const changeColumns: readonly Column<Change & { readonly owner: string }>[] = [
  { title: 'Of', value: ({ owner }) => owner },
  { title: 'Option', value: ({ path }) => path, cell: ({ path }) => html`<code>${path}</code>` },
  { title: 'Now', value: ({ before, isSecret }) => shown(before, isSecret) },
  { title: 'After a reload', value: ({ after, isSecret }) => shown(after, isSecret) },
];

function Changes({ of: { changes, warnings, waiting } }: { readonly of: Check }) {
  if (!changes) return null;
  const { settings, added, removed, isReordered, changed } = changes;
  const rows = [
    ...settings.map((change) => ({ owner: 'gateway', ...change })),
    ...changed.flatMap(({ plugin, options }) => options.map((change) => ({ owner: plugin, ...change }))),
  ];
  const isSame = rows.length === 0 && added.length === 0 && removed.length === 0 && !isReordered;
  return html`${isSame && html`<p>The file says what is in force. A reload would change nothing.</p>`}
    <${Facts}
      of=${[
        ['Plugins added', added.join(', ')],
        ['Plugins removed', removed.join(', ')],
        ['Order', isReordered ? 'The plugins are in another order.' : ''],
        ['Waits for a restart', waiting.join(', ')],
        ['Warnings', warnings.join(' ')],
      ]}
    />
    ${
      rows.length > 0 &&
      html`<${Table} name="Changes" columns=${changeColumns} rows=${rows} empty="" isPlain />`
    }`;
}

function Reload({ done }: { readonly done: () => void }) {
  const check = useSignal<Check | undefined>(undefined);
  const fault = useSignal<string | undefined>(undefined);
  const isBusy = useSignal(false);
  const run = async (action: () => Promise<void>): Promise<void> => {
    isBusy.value = true;
    fault.value = undefined;
    await action().catch((error: unknown) => (fault.value = messageOf(error)));
    isBusy.value = false;
  };
  const look = (): Promise<void> =>
    run(async () => {
      check.value = await api.post<Check>('/admin/config/check');
    });
  const reload = (): Promise<void> =>
    run(async () => {
      const { ok, fault: reason, workers } = await api.post<Reloaded>('/admin/reload');
      check.value = undefined;
      if (!ok) {
        fault.value = reason;
        return;
      }
      notify(workers > 0 ? `Reloaded; ${workers} other workers reload now` : 'Reloaded');
      done();
    });
  const isFaulty = fault.value !== undefined || check.value?.ok === false;
  return html`<section class="card" aria-label="Reload">
    <header class="head">
      <h2>Reload</h2>
      <div class="actions">
        <button onClick=${look} disabled=${isBusy}>What would change?</button>
        ${
          !session.value?.readOnly &&
          html`<button class="primary" onClick=${reload} disabled=${isBusy}>Reload</button>`
        }
      </div>
    </header>
    ${
      isFaulty &&
      html`<div class="problem" role="alert">
        <p>The file cannot be used. What is in force stays.</p>
        <pre>${fault.value ?? check.value?.fault}</pre>
      </div>`
    }
    ${!isFaulty && check.value && html`<${Changes} of=${check.value} />`}
    ${
      !isFaulty &&
      !check.value &&
      html`<p class="dim">
        The gateway reads its file when it changes. Running calls finish with the old configuration. Packages
        and the gateway keep their code until a restart.
      </p>`
    }
  </section>`;
}

export function Page() {
  const { data, error, reload } = useData<View>('/admin/config');
  const rows = data && [
    ...data.settings.map((option) => ({ owner: 'gateway', ...option })),
    ...data.plugins.flatMap(({ name, options }) => options.map((option) => ({ owner: name, ...option }))),
  ];
  return html`<${Head} title="Configuration" />
    <${Fault} error=${error} retry=${reload} />
    ${data?.warnings.map((warning) => html`<p class="hint" role="note">${warning}</p>`)}
    ${
      data &&
      html`<section class="card" aria-label="Gateway">
        <${Facts}
          of=${[
            ['Version', data.version],
            ['Node', data.node],
            ['Workers', String(data.workers)],
            ['File', html`<code>${data.file}</code>`],
            ['Data', html`<code>${data.dataFolder}</code>`],
            ['Read', html`<${Time} at=${data.readAt} />`],
          ]}
        />
      </section>`
    }
    <${Reload} done=${reload} />
    ${
      data &&
      html`<section class="card" aria-label="Plugins">
        <h2>Plugins</h2>
        <ul class="chips">
          ${data.plugins.map(
            ({ name, off }) =>
              html`<li>
                <${Badge} tone=${off === undefined ? 'good' : 'plain'}>${name}</${Badge}>
                ${off !== undefined && html`<span class="dim"> off: ${off}</span>`}
              </li>`,
          )}
        </ul>
      </section>`
    }
    <${Table} name="Options" columns=${columns} rows=${rows} empty="No options." />`;
}
