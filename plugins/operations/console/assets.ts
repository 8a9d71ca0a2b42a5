/**
 * The files of the console's pages: our own TypeScript, with its types stripped by Node, and small
 * libraries from `node_modules` as they are. They are read and stripped once, and each is compressed on
 * its first request. Their path holds a hash of all of them, so browsers keep them until the gateway
 * changes.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { z } from 'zod';
import { buildDocuments } from './document.ts';
import { keep } from './keep.ts';

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

export type Packing = 'br' | 'gzip';

export interface Asset {
  readonly type: string;
  readonly plain: Buffer;
  /** The compressed file. */
  pack(encoding: Packing): Promise<Buffer>;
}

export interface Assets {
  readonly hash: string;
  readonly files: ReadonlyMap<string, Asset>;
  readonly documents: ReturnType<typeof buildDocuments>;
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

/** Types that are stripped leave spaces behind. */
function trimLines(code: string): string {
  return code
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
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
    ? (await stripTypes(files)).map(trimLines)
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

function createAsset(name: string, text: string): Asset {
  const plain = Buffer.from(text);
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: plain.length };
  const made = new Map<Packing, Promise<Buffer>>();
  const pack = { br: () => promisify(brotliCompress)(plain, { params }), gzip: () => promisify(gzip)(plain) };
  return {
    type: types[extname(name)] ?? '',
    plain,
    pack: (encoding) => keep(made, encoding, pack[encoding]),
  };
}

/** Names in `import … from '…'` and `export … from '…'`. Dynamic imports are loaded when they are needed. */
const imported = /(?:^|[;}\s])(?:import|export)\b(?:(?!\b(?:import|export)\b)[^'"();])*["']([^'"]+)["']/g;

/** The files that a page loads first: its own, and all that it imports. */
function listNeeded(texts: ReadonlyMap<string, string>, file: string): string[] {
  const needed = new Set([file]);
  for (const each of needed)
    for (const [, name = ''] of (texts.get(each) ?? '').matchAll(imported)) {
      const found = name.startsWith('./') ? name.slice(2) : toFileName(name);
      if (texts.has(found)) needed.add(found);
    }
  return [...needed];
}

export async function loadAssets(): Promise<Assets> {
  const texts = new Map([
    ...(await readPages()),
    ...(await readLibraries()),
    ['style.css', await readStyles()],
  ]);
  const hash = createHash('sha256');
  for (const [name, text] of texts) hash.update(`${name}\n${text}\n`);
  const path = hash.digest('hex').slice(0, 12);
  const files = new Map<string, Asset>();
  for (const [name, text] of texts) files.set(name, createAsset(name, text));
  const imports = Object.fromEntries(
    Object.keys(libraries).map((name) => [name, `/console/${path}/${toFileName(name)}`]),
  );
  const documents = buildDocuments({
    folder: `/console/${path}/`,
    importMap: JSON.stringify({ imports }),
    // A built package has JavaScript.
    listNeeded: (file) => listNeeded(texts, texts.has(file) ? file : file.replace(/\.ts$/, '.js')),
  });
  return { hash: path, files, documents };
}
