/** A button in a row of a table that opens a menu of what can be done with the row. */
import { html, useRef } from './kit.ts';

interface Item {
  readonly title: string;
  act(): void;
}

interface MenuProps {
  /** Tells this menu from the others of the page. */
  readonly id: string;
  readonly label: string;
  readonly items: readonly Item[];
}

export function RowMenu({ id, label, items }: MenuProps) {
  const list = useRef<HTMLDivElement>(null);
  const choose = ({ act }: Item): void => {
    // First, so that the focus returns here from a dialog that the choice opens.
    list.current?.hidePopover();
    act();
  };
  return html`<button class="quiet" aria-label=${label} title="Actions" popovertarget=${id}>⋯</button>
    <div class="menu" popover id=${id} ref=${list}>
      ${items.map((item) => html`<button class="quiet" onClick=${() => choose(item)}>${item.title}</button>`)}
    </div>`;
}
