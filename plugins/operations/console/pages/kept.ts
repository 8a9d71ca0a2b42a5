/**
 * What stays as the reader left it: the theme, the focus of the keyboard, and what a step of the browser's
 * history keeps beside its address.
 */
import { useSignal, type Signal, effect, signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

const themes = ['system', 'light', 'dark'] as const;
type Theme = (typeof themes)[number];

const stored = (() => {
  try {
    return localStorage.getItem('tollgate-theme');
  } catch {
    return null;
  }
})();

export const theme = signal<Theme>(themes.find((each) => each === stored) ?? 'system');

export function switchTheme(): void {
  theme.value = themes[(themes.indexOf(theme.value) + 1) % themes.length] ?? 'system';
  try {
    localStorage.setItem('tollgate-theme', theme.value);
  } catch {
    // The choice lasts until the page is closed.
  }
}

effect(() => {
  if (theme.value === 'system') document.documentElement.removeAttribute('data-theme');
  else document.documentElement.dataset['theme'] = theme.value;
});

interface Focused {
  readonly element: Element;
  /** What is around it, the nearest first. */
  readonly ancestors: readonly Element[];
  /** The number of its row and its cell, in a table. */
  readonly row: number;
  readonly cell: number;
}

let focused: Focused | undefined;

function listAncestors({ parentElement: parent }: Element): Element[] {
  return parent ? [parent, ...listAncestors(parent)] : [];
}

function rememberFocus({ target }: FocusEvent): void {
  if (!(target instanceof Element)) return;
  focused = {
    element: target,
    ancestors: listAncestors(target),
    row: target.closest('tr')?.sectionRowIndex ?? -1,
    cell: target.closest('td')?.cellIndex ?? -1,
  };
}

/** A control of the row that took the place, else one beside what is gone, else the part around it. */
function findSuccessor({ ancestors, row, cell }: Focused): HTMLElement | null | undefined {
  const around = ancestors.find(({ isConnected }) => isConnected);
  const rows = around instanceof HTMLTableSectionElement ? [...around.rows] : [];
  const beside = (rows[row] ?? rows.at(-1))?.cells[cell] ?? around?.closest('td, .actions');
  return (
    beside?.querySelector<HTMLElement>('button, a[href]') ??
    around?.closest('.table')?.querySelector<HTMLElement>('.scroll') ??
    around?.closest<HTMLElement>('[tabindex]') ??
    document.querySelector('main[tabindex], main input')
  );
}

function restoreFocus(): void {
  if (!focused || focused.element.isConnected) return;
  const gone = focused;
  focused = undefined;
  if (document.activeElement === document.body) findSuccessor(gone)?.focus({ preventScroll: true });
}

export function keepFocus(): void {
  document.addEventListener('focusin', rememberFocus);
  new MutationObserver(restoreFocus).observe(document.body, { childList: true, subtree: true });
}

function readKept(): Readonly<Record<string, unknown>> {
  const { state } = window.history;
  return typeof state === 'object' && state !== null ? state : {};
}

function keep(name: string, value: unknown): void {
  window.history.replaceState({ ...readKept(), [name]: value }, '');
}

/** A text that the step keeps. */
export function useKept(name: string, usual = ''): Signal<string> {
  const kept = readKept()[name];
  const text = useSignal(typeof kept === 'string' ? kept : usual);
  useEffect(() => {
    if (text.value !== (readKept()[name] ?? usual)) keep(name, text.value);
  }, [text.value]);
  return text;
}

/** Milliseconds after the last movement. Browsers limit how often a step may change. */
const pause = 100;

/** How far down the reader was, until the page is long enough to be shown from there. */
let goal: number | undefined;
let saving: ReturnType<typeof setTimeout> | undefined;

function setGoal(): void {
  clearTimeout(saving);
  const { position } = readKept();
  goal = typeof position === 'number' && position > 0 ? position : undefined;
  if (goal === undefined) window.scrollTo(0, 0);
}

function dropGoal(): void {
  goal = undefined;
}

function goToGoal(): void {
  const { scrollHeight, clientHeight } = document.documentElement;
  if (goal === undefined || scrollHeight - clientHeight < goal) return;
  window.scrollTo(0, goal);
  dropGoal();
}

function savePosition(): void {
  clearTimeout(saving);
  const { hash } = window.location;
  if (goal === undefined)
    saving = setTimeout(() => hash === window.location.hash && keep('position', window.scrollY), pause);
}

/** Shows each page from where the reader left it. The browser would try before the page has its data. */
export function keepPosition(): void {
  window.history.scrollRestoration = 'manual';
  setGoal();
  window.addEventListener('hashchange', setGoal);
  window.addEventListener('scroll', savePosition);
  for (const move of ['wheel', 'touchmove', 'keydown', 'pointerdown'])
    window.addEventListener(move, dropGoal, { passive: true });
  new ResizeObserver(goToGoal).observe(document.body);
}
