/** The page for key holders. */
import { html, render } from './kit.ts';

const root = document.getElementById('app');
if (root) render(html`<main class="public"><h1>Tollgate</h1></main>`, root);
