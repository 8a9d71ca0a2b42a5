/** The pages of the console, and the palette, which finds them and whatever exists by a part of its name. */
import { Page as Accounts } from './accounts.ts';
import { Page as Activity } from './activity.ts';
import { mayChange, session } from './api.ts';
import { Page as Calls } from './calls.ts';
import { Page as Configuration } from './configuration.ts';
import { Page as Translation } from './crossing.ts';
import { switchTheme } from './kept.ts';
import { confirmDisable } from './keys.ts';
import { closeDialog, dialog, html, openDialog, takeText, useSignal, useRef, type Place, go } from './kit.ts';
import { Page as Models } from './models.ts';
import { Page as Overview } from './overview.ts';
import { Page as People } from './people.ts';
import { Page as Playground } from './playground.ts';
import { Page as Prices } from './prices.ts';
import { Page as Providers } from './providers.ts';
import { findNames, type Found } from './search.ts';
import { Page as Sessions } from './sessions.ts';

export interface Page {
  /** The first part of its address. */
  readonly path: string;
  readonly title: string;
  readonly View: (props: { readonly place: Place }) => unknown;
}

export const pages: readonly Page[] = [
  { path: '', title: 'Overview', View: Overview },
  { path: 'calls', title: 'Calls', View: Calls },
  { path: 'sessions', title: 'Sessions', View: Sessions },
  { path: 'accounts', title: 'Accounts and keys', View: Accounts },
  { path: 'people', title: 'People', View: People },
  { path: 'models', title: 'Models', View: Models },
  { path: 'prices', title: 'Prices', View: Prices },
  { path: 'providers', title: 'Providers', View: Providers },
  { path: 'crossing', title: 'Translation', View: Translation },
  { path: 'playground', title: 'Playground', View: Playground },
  { path: 'activity', title: 'Activity', View: Activity },
  { path: 'configuration', title: 'Configuration', View: Configuration },
];

/** Members have pages for what is theirs alone. */
const ofMembers = new Set(['', 'calls', 'accounts']);

/** The pages that the session is for. People exist only where they can sign in. */
export function listPages(): readonly Page[] {
  const { role = 'owner', signIn } = session.value ?? {};
  const showsPeople = signIn !== undefined && (role === 'owner' || role === 'admin');
  return pages.filter(({ path }) =>
    path === 'people' ? showsPeople : role !== 'member' || ofMembers.has(path),
  );
}

interface Command {
  readonly title: string;
  run(): void;
}

/** What can be done with what was found. Statements and keys to stop are there since they are in a hurry. */
function listSuggestions({ kind, id, name, account, last_four: four, disabled }: Found): Command[] {
  const showCalls = (title: string, filter: Readonly<Record<string, string>>): Command => ({
    title,
    run: () => go('calls', filter),
  });
  if (kind === 'account')
    return [
      { title: `Account ${name}`, run: () => go(['accounts', id]) },
      { title: `Statement of ${name}`, run: () => go(['accounts', id], { show: 'statement' }) },
    ];
  if (kind === 'call') return [{ title: `Call ${id}`, run: () => go(['calls', id]) }];
  if (kind === 'model')
    return [
      { title: `Model ${id}`, run: () => go('models', { search: id }) },
      showCalls(`Calls of ${id}`, { model: id }),
    ];
  if (kind !== 'key') return [showCalls(`Calls of the ${kind} ${id}`, { [kind]: id })];
  const key = name.startsWith('…') ? name : `${name} …${four}`;
  const stop = { title: `Stop the key ${key}`, run: () => confirmDisable({ id, lastFour: four ?? '' }) };
  const calls = showCalls(`Calls of the key ${key}${account === null ? '' : ` of ${account}`}`, { key: id });
  return mayChange('PATCH /admin/keys/:key') && disabled === false ? [calls, stop] : [calls];
}

/** What the whole text names, or its last word: `stop ada`, `statement acme`. */
async function findCommands(text: string): Promise<readonly Command[] | undefined> {
  const whole = await findNames(text);
  if (whole === undefined || whole.length > 0) return whole?.flatMap(listSuggestions);
  const words = text.trim().toLowerCase().split(/\s+/);
  const name = words.pop();
  const found = words.length === 0 || name === undefined ? [] : await findNames(name);
  return found
    ?.flatMap(listSuggestions)
    .filter(({ title }) => words.every((word) => title.toLowerCase().includes(word)));
}

function listCommands(text: string, found: readonly Command[]): Command[] {
  const all: Command[] = [
    ...listPages().map(({ path, title }) => ({ title, run: () => go(path) })),
    { title: 'Change the theme', run: switchTheme },
  ];
  const words = text.toLowerCase().split(/\s+/);
  return [...all.filter(({ title }) => words.every((word) => title.toLowerCase().includes(word))), ...found];
}

const steps: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };

interface ListProps {
  readonly commands: readonly Command[];
  readonly at: number;
  readonly run: (command: Command) => void;
}

function CommandList({ commands, at, run }: ListProps) {
  return html`<ul id="palette-list" role="listbox" aria-label="Places">
    ${commands.map(
      (command, index) =>
        html`<li
          id=${`palette-${index}`}
          role="option"
          aria-selected=${index === at ? 'true' : 'false'}
          onClick=${() => run(command)}
        >
          ${command.title}
        </li>`,
    )}
  </ul>`;
}

function Palette() {
  const text = useSignal('');
  const chosen = useSignal(0);
  const found = useSignal<readonly Command[]>([]);
  /** Whether the search for the last letters has ended, and what happens then. */
  const search = useRef<Promise<void>>(Promise.resolve());
  const commands = listCommands(text.value, found.value);
  const at = Math.min(chosen.value, Math.max(0, commands.length - 1));
  const run = (command: Command | undefined) => {
    if (command === undefined) return;
    closeDialog();
    command.run();
  };
  const take = takeText((typed) => {
    text.value = typed;
    chosen.value = 0;
    search.current =
      typed.trim() === ''
        ? Promise.resolve()
        : findCommands(typed).then((all) => {
            found.value = all ?? found.value;
          });
    if (typed.trim() === '') found.value = [];
  });
  /** Enter may come before what was typed is found. */
  const runChosen = async (): Promise<void> => {
    await search.current;
    run(listCommands(text.value, found.value)[chosen.value]);
  };
  const onKey = (event: KeyboardEvent) => {
    const step = steps[event.key];
    if (step !== undefined) {
      event.preventDefault();
      chosen.value = (at + step + commands.length) % Math.max(1, commands.length);
    } else if (event.key === 'Enter') {
      event.preventDefault();
      void runChosen();
    }
  };
  return html`<input
      type="text"
      role="combobox"
      aria-expanded="true"
      aria-controls="palette-list"
      aria-activedescendant=${`palette-${at}`}
      aria-label="Page, account, key, model, session or call"
      placeholder="Page, account, key, model, session or call"
      autocomplete="off"
      spellcheck=${false}
      value=${text}
      onInput=${take}
      onKeyDown=${onKey}
    />
    <${CommandList} commands=${commands} at=${at} run=${run} />`;
}

/** Opens the palette, unless a dialog is open, which may hold what was typed. */
export function openPalette(): void {
  if (!dialog.value) openDialog('Go to', html`<${Palette} />`, 'palette');
}
