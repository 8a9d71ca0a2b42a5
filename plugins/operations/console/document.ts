/**
 * The HTML documents that load the pages. Their policy lets nothing in but our own files: no other host, no
 * inline style, and of inline scripts only the import map, by its hash.
 */
import { createHash } from 'node:crypto';
import { buildPageHeaders } from '../../shared/page-headers.ts';

function hashText(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}

interface Document {
  readonly title: string;
  /** The file that starts the page. */
  readonly entry: string;
  /**
   * What is painted before any script has loaded. The scripts draw the same over it, so nothing moves.
   * Inputs work after the scripts have loaded.
   */
  readonly shell: string;
  /**
   * The file of the page that most visits begin with. It is preloaded, not only when the entry imports it.
   */
  readonly first?: string;
  /** What the entry requests immediately. */
  readonly asks?: string;
}

const operators = {
  title: 'Tollgate console',
  entry: 'main.ts',
  first: 'overview.ts',
  asks: '/console/session',
};

const documents = {
  operators: {
    ...operators,
    shell: `<main class="sign-in" aria-busy="true">
<h1>Tollgate</h1>
<p class="dim">Sign in with the operator secret, which is in the file <code>operator-secret</code> of the data
folder unless the configuration holds one, or with an operator key.</p>
<form class="form">
<div class="field password"><label for="secret">Operator secret or key</label>
<input id="secret" type="password" disabled><small class="dim"></small></div>
<button class="primary" disabled>Sign in</button>
</form>
</main>`,
  },
  /** For browsers that seem to be signed in. */
  returners: {
    ...operators,
    shell: `<nav><a class="brand" href="#/">Tollgate</a></nav>
<main class="page" aria-busy="true"><p class="dim">Loading …</p></main>`,
  },
  holders: {
    title: 'Tollgate',
    entry: 'public.ts',
    shell: `<main class="public" aria-busy="true">
<header class="head"><div><h1>Tollgate</h1>
<p class="dim">A gateway to models of many providers: one key, one balance, the client you already use.</p>
</div></header>
</main>`,
  },
} satisfies Readonly<Record<string, Document>>;

interface Site {
  /** Where the files are. */
  readonly folder: string;
  /** Names of libraries, and the files that they are. */
  readonly importMap: string;
  /** The files that a page loads first, its own before the others. */
  listNeeded(file: string): readonly string[];
}

/** A document with its headers. */
function buildDocument(
  { folder, importMap, listNeeded }: Site,
  { title, entry, shell, first, asks }: Document,
) {
  const needed = listNeeded(entry);
  const [script] = needed;
  const preloads = [...new Set([...needed, ...(first === undefined ? [] : listNeeded(first))])].map(
    (name) => `<link rel="modulepreload" href="${folder}${name}">`,
  );
  if (asks !== undefined)
    preloads.unshift(`<link rel="preload" href="${asks}" as="fetch" crossorigin="anonymous">`);
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${folder}style.css">
<script type="importmap">${importMap}</script>
${preloads.join('\n')}
</head>
<body>
<noscript>This page needs JavaScript.</noscript>
<div id="app">${shell}</div>
<script type="module" src="${folder}${script}"></script>
</body>
</html>
`;
  const headers: Readonly<Record<string, string>> = {
    ...buildPageHeaders(`'sha256-${hashText(importMap)}'`),
    etag: `"${hashText(html).slice(0, 22)}"`,
  };
  return { html, headers };
}

export function buildDocuments(site: Site) {
  const { operators, returners, holders } = documents;
  return {
    operators: buildDocument(site, operators),
    returners: buildDocument(site, returners),
    holders: buildDocument(site, holders),
  };
}
