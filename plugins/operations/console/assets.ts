/**
 * The files of the console's pages: our own TypeScript, with its types stripped by Node, and small
 * libraries from `node_modules` as they are. They are read, stripped and compressed once. Their path holds a
 * hash of all of them, so browsers keep them until the gateway changes. The policy of the documents that load
 * them lets nothing in but our own files: no other host, no inline style, and of inline scripts only the
 * import map, by its hash.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { z } from 'zod';
import { buildPageHeaders } from '../../shared/page-headers.ts';

const types: Readonly<Record<string, string>> = {
  '.ts': 'text/javascript; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
};

/** The files of the style sheet, in the order of their rules. Browsers get them as one. */
const styles = 'base shell controls forms dialogs content tables charts calls public playground'.split(' ');

/** Modules that the pages import by name, each with its file in the package. */
const libraries: Readonly<Record<string, readonly [file: string, path: string]>> = {
  preact: ['preact/package.json', 'dist/preact.mjs'],
  'preact/hooks': ['preact/package.json', 'hooks/dist/hooks.mjs'],
  htm: ['htm', 'htm.mjs'],
  '@preact/signals-core': ['@preact/signals-core', 'signals-core.mjs'],
  '@preact/signals': ['@preact/signals', 'signals.mjs'],
};

export interface Asset {
  readonly type: string;
  readonly plain: Buffer;
  readonly gzip: Buffer;
}

export interface Assets {
  readonly hash: string;
  readonly files: ReadonlyMap<string, Asset>;
  readonly documents: Readonly<Record<keyof typeof documents, ReturnType<typeof buildDocument>>>;
}

const folder = join(import.meta.dirname, 'pages');

/** The files' texts without types. The option hides Node's warning that stripping is experimental. */
async function stripTypes(files: readonly string[]): Promise<string[]> {
  const script = join(import.meta.dirname, 'strip-types.ts');
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', script, ...files],
    { maxBuffer: Infinity },
  );
  return z.array(z.string()).parse(JSON.parse(stdout));
}

async function readStyles(): Promise<string> {
  const texts = await Promise.all(
    styles.map((name) => readFile(join(folder, 'style', `${name}.css`), 'utf8')),
  );
  return texts.join('');
}

async function readPages(): Promise<Map<string, string>> {
  const names = (await readdir(folder))
    .filter((name) => types[extname(name)] !== undefined && !name.endsWith('.d.ts'))
    .toSorted();
  const files = names.map((name) => join(folder, name));
  // A built package has JavaScript.
  const texts = names.some((name) => name.endsWith('.ts'))
    ? await stripTypes(files)
    : await Promise.all(files.map((file) => readFile(file, 'utf8')));
  return new Map(names.map((name, place) => [name, texts[place] ?? '']));
}

function toFileName(name: string): string {
  return `${name.replaceAll(/[@/]/g, '-').replace(/^-/, '')}.js`;
}

async function readLibraries(): Promise<Map<string, string>> {
  const { resolve } = createRequire(import.meta.url);
  const texts = new Map<string, string>();
  for (const [name, [from, path]] of Object.entries(libraries)) {
    const text = await readFile(join(dirname(resolve(from)), path), 'utf8');
    texts.set(toFileName(name), text.replace(/\n\/\/# sourceMappingURL=\S*\s*$/, '\n'));
  }
  return texts;
}

async function createAsset(name: string, text: string): Promise<Asset> {
  const plain = Buffer.from(text);
  return { type: types[extname(name)] ?? '', plain, gzip: await promisify(gzip)(plain) };
}

function hashText(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}

/** The pages by the listener that serves them, with the files that start them. */
const documents = {
  operators: { title: 'Tollgate console', entry: 'main' },
  holders: { title: 'Tollgate', entry: 'public' },
} as const;

interface Site {
  /** Where the files are. */
  readonly folder: string;
  /** The modules, all of which are loaded at once: a page waits for none when it is opened. */
  readonly modules: readonly string[];
  /** Names of libraries, and the files that they are. */
  readonly importMap: string;
}

/** A document with its headers. */
function buildDocument(
  { folder, modules, importMap }: Site,
  { title, entry }: Record<'title' | 'entry', string>,
) {
  const script = modules.find((name) => name.replace(/\.[jt]s$/, '') === entry);
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
${modules.map((name) => `<link rel="modulepreload" href="${folder}${name}">`).join('\n')}
</head>
<body>
<noscript>This page needs JavaScript.</noscript>
<div id="app"><p class="empty" aria-busy="true">Loading …</p></div>
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

export async function loadAssets(): Promise<Assets> {
  const modules = new Map([...(await readPages()), ...(await readLibraries())]);
  const texts = new Map([...modules, ['style.css', await readStyles()]]);
  const hash = createHash('sha256');
  for (const [name, text] of texts) hash.update(`${name}\n${text}\n`);
  const path = hash.digest('hex').slice(0, 12);
  const folder = `/console/${path}/`;
  const files = new Map<string, Asset>();
  for (const [name, text] of texts) files.set(name, await createAsset(name, text));
  const imports = Object.fromEntries(Object.keys(libraries).map((name) => [name, folder + toFileName(name)]));
  const site = { folder, modules: [...modules.keys()], importMap: JSON.stringify({ imports }) };
  const { operators, holders } = documents;
  return {
    hash: path,
    files,
    documents: { operators: buildDocument(site, operators), holders: buildDocument(site, holders) },
  };
}
