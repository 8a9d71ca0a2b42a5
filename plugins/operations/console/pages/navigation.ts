/** The pages of the console, and the palette, which finds a page, a call, an account or a model by name. */
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

export interface Page {
  /** The first part of its address. */
  readonly path: string;
  readonly title: string;
  load(): Promise<{ readonly Page: (props: { readonly place: Place }) => unknown }>;
}

export const pages: readonly Page[] = [
  { path: '', title: 'Overview', load: () => import('./overview.ts') },
  { path: 'calls', title: 'Calls', load: () => import('./calls.ts') },
  { path: 'accounts', title: 'Accounts and keys', load: () => import('./accounts.ts') },
  { path: 'models', title: 'Models', load: () => import('./models.ts') },
  { path: 'providers', title: 'Providers', load: () => import('./providers.ts') },
  { path: 'crossing', title: 'Translation', load: () => import('./crossing.ts') },
  { path: 'playground', title: 'Playground', load: () => import('./playground.ts') },
  { path: 'configuration', title: 'Configuration', load: () => import('./configuration.ts') },
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
