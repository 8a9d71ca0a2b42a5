/** The configuration in force, what a reload would change, and the reload. The gateway masks secrets. */
import type { ConfigCheck, ConfigView, Option, OptionChange } from '../../../shared/replies/configuration.ts';
import { call, mayChange, useData } from './api.ts';
import { renderTime } from './format.ts';
import { html, getMessage, notify, useSignal } from './kit.ts';
import { renderBadge, renderFacts, renderHead, renderProblem } from './parts.ts';
import { buildColumn, type Column, renderTable } from './table.ts';

interface Owned {
  /** The plugin, or `gateway`. */
  readonly owner: string;
  readonly path: string;
}

function formatValue(value: Option['value'], isSecret: boolean): string {
  if (isSecret) return 'hidden';
  return value === undefined ? '–' : String(value);
}

/** The options of the gateway and of each plugin, as rows of one table. */
function listOptions<Each>(
  settings: readonly Each[],
  plugins: readonly { readonly name: string; readonly options: readonly Each[] }[],
): (Each & { readonly owner: string })[] {
  return [{ name: 'gateway', options: settings }, ...plugins].flatMap(({ name, options }) =>
    options.map((option) => ({ owner: name, ...option })),
  );
}

const ownerColumns: readonly Column<Owned>[] = [
  buildColumn('Plugin', 'owner'),
  buildColumn('Option', 'path', ({ path }) => html`<code>${path}</code>`),
];

const columns: readonly Column<Option & Owned>[] = [
  ...ownerColumns,
  buildColumn(
    'Value',
    ({ value, isSecret }) => formatValue(value, isSecret),
    ({ value, isSecret }) =>
      isSecret ? renderBadge('hidden') : html`<span class="mono">${formatValue(value, false)}</span>`,
  ),
  buildColumn('From', ({ isDefault }) => (isDefault ? 'default' : 'configuration')),
];

const changeColumns: readonly Column<OptionChange & Owned>[] = [
  ...ownerColumns,
  buildColumn('Now', ({ before, isSecret }) => formatValue(before, isSecret)),
  buildColumn('After a reload', ({ after, isSecret }) => formatValue(after, isSecret)),
];

function renderChanges({ changes, warnings, waiting }: ConfigCheck) {
  if (!changes) return null;
  const { settings, added, removed, isReordered, changed } = changes;
  const rows = listOptions(
    settings,
    changed.map(({ plugin: name, options }) => ({ name, options })),
  );
  const isSame = rows.length === 0 && added.length === 0 && removed.length === 0 && !isReordered;
  return html`${isSame && html`<p>The file matches the running configuration. A reload changes nothing.</p>`}
  ${renderFacts([
    ['Plugins added', added.join(', ')],
    ['Plugins removed', removed.join(', ')],
    ['Order', isReordered && 'The plugins are in a different order.'],
    ['Waits for a restart', waiting.join(', ')],
    ['Warnings', warnings.join(' ')],
  ])}
  ${rows.length > 0 && renderTable({ name: 'Changes', columns: changeColumns, rows, isPlain: true })}`;
}

function Reload() {
  const check = useSignal<ConfigCheck | undefined>(undefined);
  const isBusy = useSignal(false);
  const problem = useSignal<string | undefined>(undefined);
  const run = async (action: () => Promise<ConfigCheck | undefined>): Promise<void> => {
    isBusy.value = true;
    problem.value = undefined;
    check.value = await action().catch((error: unknown) => {
      problem.value = getMessage(error);
      return undefined;
    });
    isBusy.value = false;
  };
  const look = (): Promise<void> => run(() => call('POST /admin/config/check'));
  const apply = (): Promise<void> =>
    run(async () => {
      const { workers, ...result } = await call('POST /admin/reload');
      if (!result.ok) return { ...result, warnings: [] };
      notify(workers > 0 ? `Reloaded; ${workers} other workers reload now` : 'Reloaded');
      return undefined;
    });
  const buttons = html`<button onClick=${look} disabled=${isBusy}>What would change?</button>${
      mayChange('POST /admin/reload') &&
      html`<button class="primary" onClick=${apply} disabled=${isBusy}>Reload</button>`
    }`;
  const about = html`<p class="dim">
    The gateway reads its file when it changes. Running calls finish with the old configuration. Packages and
    the gateway keep their code until a restart.
  </p>`;
  const fault = html`<div class="problem" role="alert">
    <p>The file is invalid. The running configuration stays in force.</p>
    <pre class="whole">${check.value?.fault}</pre>
  </div>`;
  return html`<section class="card" aria-label="Reload">
    ${renderHead('Reload', buttons, 'h2')} ${renderProblem(problem.value)}
    ${check.value?.ok === false && fault} ${check.value?.ok && renderChanges(check.value)}
    ${!check.value && about}
  </section>`;
}

function renderGateway({ version, node, workers, file, dataFolder, readAt }: ConfigView) {
  return html`<section class="card" aria-label="Gateway">
    ${renderFacts([
      ['Version', version],
      ['Node', node],
      ['Workers', String(workers)],
      ['File', html`<code>${file}</code>`],
      ['Data', html`<code>${dataFolder}</code>`],
      ['Read', renderTime(readAt)],
    ])}
  </section>`;
}

function renderPlugins(plugins: ConfigView['plugins']) {
  const renderPlugin = ({ name, off }: ConfigView['plugins'][number]) =>
    html`<li>
      ${renderBadge(name, off === undefined ? 'good' : 'plain')}
      ${off !== undefined && html`<span class="dim"> off: ${off}</span>`}
    </li>`;
  return html`<section class="card" aria-label="Plugins">
    <h2>Plugins</h2>
    <ul class="chips">
      ${plugins.map(renderPlugin)}
    </ul>
  </section>`;
}

export function Page() {
  const { data, error } = useData('GET /admin/config');
  const rows = data && listOptions(data.settings, data.plugins);
  return html`${renderHead('Configuration')} ${renderProblem(error)}
  ${data?.warnings.map((warning) => html`<p class="hint" role="note">${warning}</p>`)}
  ${data && renderGateway(data)} ${(data || error) && html`<${Reload} />`}
  ${data && renderPlugins(data.plugins)}
  ${(data || !error) && renderTable({ name: 'Options', columns, rows, empty: 'No options.' })}`;
}
