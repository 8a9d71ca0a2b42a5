import { html } from './kit.ts';
export function Page() {
  return html``;
}
