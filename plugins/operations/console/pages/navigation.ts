/** The pages of the console, and the palette, which finds a page, a call, an account or a model by name. */
import { Page as Accounts } from './accounts.ts';
import { Page as Calls } from './calls.ts';
import { Page as Configuration } from './configuration.ts';
import { Page as Translation } from './crossing.ts';
import { switchTheme } from './kept.ts';
import {
  closeDialog,
  dialog,
  html,
  openDialog,
  takeText,
  useSignal,
  type Place,
  go,
  buildHref,
} from './kit.ts';
import { Page as Models } from './models.ts';
import { Page as Overview } from './overview.ts';
import { Page as Playground } from './playground.ts';
import { Page as Providers } from './providers.ts';

export interface Page {
  /** The first part of its address. */
  readonly path: string;
  readonly title: string;
  readonly View: (props: { readonly place: Place }) => unknown;
}

export const pages: readonly Page[] = [
  { path: '', title: 'Overview', View: Overview },
  { path: 'calls', title: 'Calls', View: Calls },
  { path: 'accounts', title: 'Accounts and keys', View: Accounts },
  { path: 'models', title: 'Models', View: Models },
  { path: 'providers', title: 'Providers', View: Providers },
  { path: 'crossing', title: 'Translation', View: Translation },
  { path: 'playground', title: 'Playground', View: Playground },
  { path: 'configuration', title: 'Configuration', View: Configuration },
];

interface Command {
  readonly title: string;
  run(): void;
}

/** Places that the text could name, besides the pages. */
function listSuggestions(text: string): Command[] {
  if (text === '') return [];
  const found: Command[] = [];
  const suggest = (path: string, title: string, to: () => void) => {
    if (pages.some((page) => page.path === path)) found.push({ title, run: to });
  };
  suggest('accounts', `Open the account “${text}”`, () => go(['accounts', text]));
  suggest('calls', `Calls of the model “${text}”`, () => go('calls', { model: text }));
  suggest('models', `Models that contain “${text}”`, () => go('models', { search: text }));
  suggest('calls', `Open the call “${text}”`, () => go(['calls', text]));
  // First what the text looks like.
  return /^[\da-f]{8}-/.test(text) ? found.toReversed() : found;
}

function listCommands(text: string): Command[] {
  const all: Command[] = [
    ...pages.map(({ path, title }) => ({ title, run: () => (window.location.hash = buildHref(path)) })),
    { title: 'Change the theme', run: switchTheme },
  ];
  const words = text.toLowerCase().split(/\s+/);
  return [
    ...all.filter(({ title }) => words.every((word) => title.toLowerCase().includes(word))),
    ...listSuggestions(text.trim()),
  ];
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
  const commands = listCommands(text.value);
  const at = Math.min(chosen.value, Math.max(0, commands.length - 1));
  const run = (command: Command | undefined) => {
    closeDialog();
    command?.run();
  };
  const take = takeText((typed) => {
    text.value = typed;
    chosen.value = 0;
  });
  const onKey = (event: KeyboardEvent) => {
    const step = steps[event.key];
    if (step !== undefined) {
      event.preventDefault();
      chosen.value = (at + step + commands.length) % Math.max(1, commands.length);
    } else if (event.key === 'Enter') {
      event.preventDefault();
      run(commands[at]);
    }
  };
  return html`<input
      type="text"
      role="combobox"
      aria-expanded="true"
      aria-controls="palette-list"
      aria-activedescendant=${`palette-${at}`}
      aria-label="Page, call, account or model"
      placeholder="Page, call, account or model"
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
