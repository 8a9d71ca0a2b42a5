#!/usr/bin/env node
/**
 * `npm create tollgate-plugin my-guard -- --kind guard` writes a package with a plugin, its tests, and a
 * configuration to try it with. It asks nothing, and loads nothing from elsewhere.
 */
import { cpSync, existsSync, globSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

const templates = join(import.meta.dirname, 'templates');
const kinds = readdirSync(templates).filter((name) => name !== 'every');
const usage = `usage: npm create tollgate-plugin <name> -- [--kind ${kinds.join('|')}]`;

function fail(message) {
  process.stderr.write(`create-tollgate-plugin: ${message}\n${usage}\n`);
  process.exit(1);
}

function readWords() {
  const options = { kind: { type: 'string', default: 'guard' } };
  try {
    return parseArgs({ options, allowPositionals: true });
  } catch (error) {
    return fail(error.message);
  }
}

/** Puts the names in place of the template's. */
function fillIn(text, name, id) {
  const camelCase = id.replaceAll(/-(\w)/g, (_, letter) => letter.toUpperCase());
  return text
    .replaceAll('"name": "my-plugin"', `"name": "${name}"`)
    .replaceAll('my-plugin', id)
    .replaceAll('myPlugin', camelCase)
    .replaceAll('MY_PLUGIN', id.replaceAll('-', '_').toUpperCase());
}

const {
  values: { kind },
  positionals: [name = '', ...others],
} = readWords();
if (others.length > 0 || !/^(?:@[a-z\d][a-z\d._-]*\/)?[a-z][a-z\d]*(?:-[a-z\d]+)*$/.test(name))
  fail('name the package in lower case: letters, digits and hyphens, with a scope or not');
if (!kinds.includes(kind)) fail(`there is no kind "${kind}"`);
const id = basename(name);
const folder = resolve(id);
if (existsSync(folder) && readdirSync(folder).length > 0) fail(`${folder} is not empty`);

for (const part of ['every', kind]) cpSync(join(templates, part), folder, { recursive: true });
for (const path of globSync('**/*', { cwd: folder })) {
  const file = join(folder, path);
  if (statSync(file).isFile()) writeFileSync(file, fillIn(readFileSync(file, 'utf8'), name, id));
}
// A package cannot hold a file of this name.
writeFileSync(join(folder, '.gitignore'), 'node_modules\ndist\ndata\n');
process.stdout.write(`Wrote ${folder}.\nNext: cd ${id} && npm install && npm test\n`);
