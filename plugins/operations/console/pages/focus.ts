/**
 * Keeps the focus of the keyboard when what has it disappears: a deleted row, the last `Load more`, a page
 * that another replaces. Browsers would begin again at the top.
 */
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
