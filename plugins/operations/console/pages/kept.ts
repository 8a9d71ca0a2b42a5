/**
 * What a step of the browser's history keeps beside its address, so that a page looks the same after a
 * reload, and on the way back from another page.
 */
import { useSignal, type Signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

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
