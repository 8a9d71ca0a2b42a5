/** The configuration in force, what a reload would change, and the reload. The gateway masks secrets. */
import type {
  ConfigCheck,
  ConfigView,
  Option,
  OptionChange,
  Reloaded,
} from '../../../shared/replies/configuration.ts';
import { api, mayChange, useData } from './api.ts';
import { column, type Column } from './columns.ts';
import { when } from './format.ts';
import { html, messageOf, notify, useSignal } from './kit.ts';
import { badge, facts, head, problem } from './parts.ts';
import { table } from './table.ts';

interface Owned {
  /** The plugin, or `gateway`. */
  readonly owner: string;
  readonly path: string;
}

function shown(value: Option['value'], isSecret: boolean): string {
  if (isSecret) return 'hidden';
  return value === undefined ? '–' : String(value);
}

/** The options of the gateway and of each plugin, as rows of one table. */
function owned<Each>(
  settings: readonly Each[],
  plugins: readonly { readonly name: string; readonly options: readonly Each[] }[],
): (Each & { readonly owner: string })[] {
  return [{ name: 'gateway', options: settings }, ...plugins].flatMap(({ name, options }) =>
    options.map((option) => ({ owner: name, ...option })),
  );
}

const ownerColumns: readonly Column<Owned>[] = [
  column('Plugin', ({ owner }) => owner),
  column(
    'Option',
    ({ path }) => path,
    ({ path }) => html`<code>${path}</code>`,
  ),
];

const columns: readonly Column<Option & Owned>[] = [
  ...ownerColumns,
  column(
    'Value',
    ({ value, isSecret }) => shown(value, isSecret),
    ({ value, isSecret }) =>
      isSecret ? badge('hidden') : html`<span class="mono">${shown(value, false)}</span>`,
  ),
  column('From', ({ isDefault }) => (isDefault ? 'default' : 'configuration')),
];

const changeColumns: readonly Column<OptionChange & Owned>[] = [
  ...ownerColumns,
  column('Now', ({ before, isSecret }) => shown(before, isSecret)),
  column('After a reload', ({ after, isSecret }) => shown(after, isSecret)),
];

function changesOf({ changes, warnings, waiting }: ConfigCheck) {
  if (!changes) return null;
  const { settings, added, removed, isReordered, changed } = changes;
  const rows = owned(
    settings,
    changed.map(({ plugin: name, options }) => ({ name, options })),
  );
  const isSame = rows.length === 0 && added.length === 0 && removed.length === 0 && !isReordered;
  return html`${isSame && html`<p>The file says what is in force. A reload would change nothing.</p>`}
  ${facts([
    ['Plugins added', added.join(', ')],
    ['Plugins removed', removed.join(', ')],
    ['Order', isReordered && 'The plugins are in another order.'],
    ['Waits for a restart', waiting.join(', ')],
    ['Warnings', warnings.join(' ')],
  ])}
  ${rows.length > 0 && table({ name: 'Changes', columns: changeColumns, rows, isPlain: true })}`;
}

function Reload({ done }: { readonly done: () => void }) {
  const check = useSignal<ConfigCheck | undefined>(undefined);
  const isBusy = useSignal(false);
  const run = async (action: () => Promise<ConfigCheck | undefined>): Promise<void> => {
    isBusy.value = true;
    check.value = await action().catch((error: unknown) => ({
      ok: false,
      fault: messageOf(error),
      warnings: [],
      waiting: [],
    }));
    isBusy.value = false;
  };
  const look = (): Promise<void> => run(() => api.post<ConfigCheck>('/admin/config/check'));
  const reload = (): Promise<void> =>
    run(async () => {
      const { workers, ...result } = await api.post<Reloaded>('/admin/reload');
      if (!result.ok) return { ...result, warnings: [] };
      notify(workers > 0 ? `Reloaded; ${workers} other workers reload now` : 'Reloaded');
      done();
      return undefined;
    });
  const buttons = html`<button onClick=${look} disabled=${isBusy}>What would change?</button>${
      mayChange() && html`<button class="primary" onClick=${reload} disabled=${isBusy}>Reload</button>`
    }`;
  const about = html`<p class="dim">
    The gateway reads its file when it changes. Running calls finish with the old configuration. Packages and
    the gateway keep their code until a restart.
  </p>`;
  const fault = html`<div class="problem" role="alert">
    <p>The file cannot be used. What is in force stays.</p>
    <pre class="whole">${check.value?.fault}</pre>
  </div>`;
  return html`<section class="card" aria-label="Reload">
    ${head('Reload', buttons, 'h2')} ${check.value?.ok === false && fault}
    ${check.value?.ok && changesOf(check.value)} ${!check.value && about}
  </section>`;
}

function gatewayFacts({ version, node, workers, file, dataFolder, readAt }: ConfigView) {
  return html`<section class="card" aria-label="Gateway">
    ${facts([
      ['Version', version],
      ['Node', node],
      ['Workers', String(workers)],
      ['File', html`<code>${file}</code>`],
      ['Data', html`<code>${dataFolder}</code>`],
      ['Read', when(readAt)],
    ])}
  </section>`;
}

function pluginList(plugins: ConfigView['plugins']) {
  const plugin = ({ name, off }: ConfigView['plugins'][number]) =>
    html`<li>
      ${badge(name, off === undefined ? 'good' : 'plain')}
      ${off !== undefined && html`<span class="dim"> off: ${off}</span>`}
    </li>`;
  return html`<section class="card" aria-label="Plugins">
    <h2>Plugins</h2>
    <ul class="chips">
      ${plugins.map(plugin)}
    </ul>
  </section>`;
}

export function Page() {
  const { data, error, reload } = useData<ConfigView>('/admin/config');
  const rows = data && owned(data.settings, data.plugins);
  return html`${head('Configuration')} ${problem(error, reload)}
    ${data?.warnings.map((warning) => html`<p class="hint" role="note">${warning}</p>`)}
    ${data && gatewayFacts(data)}
    <${Reload} done=${reload} />
    ${data && pluginList(data.plugins)} ${table({ name: 'Options', columns, rows, empty: 'No options.' })}`;
}
