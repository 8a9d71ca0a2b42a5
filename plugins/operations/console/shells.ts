/**
 * What a browser paints before any script has come: the page to sign in on, or the frame of a page. The
 * scripts draw the same over it, so nothing moves. Inputs work once the scripts are there.
 */
export const signInShell = `<main class="sign-in" aria-busy="true">
<h1>Tollgate</h1>
<p class="dim">Sign in with the operator secret, which is in the file <code>operator-secret</code> of the data
folder, or with an operator key.</p>
<form class="form">
<div class="field password"><label for="secret">Operator secret or key</label>
<input id="secret" type="password" disabled><small class="dim"></small></div>
<button class="primary" disabled>Sign in</button>
</form>
</main>`;

export const loadingShell = `<nav><a class="brand" href="#/">Tollgate</a></nav>
<main class="page" aria-busy="true"><p class="dim">Loading …</p></main>`;

export const publicShell = `<main class="public" aria-busy="true">
<header class="head"><div><h1>Tollgate</h1>
<p class="dim">A gateway to models of many providers: one key, one balance, the client you already use.</p>
</div></header>
</main>`;
