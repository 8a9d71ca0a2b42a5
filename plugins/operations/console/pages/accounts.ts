/** The accounts. */
import { html } from './kit.ts';
import { Head } from './parts.ts';

export function Page() {
  return html`<${Head} title="Accounts and keys" />`;
}
