/** The models. */
import { html } from './kit.ts';
import { Head } from './parts.ts';

export function Page() {
  return html`<${Head} title="Models" />`;
}
