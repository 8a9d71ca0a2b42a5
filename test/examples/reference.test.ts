/** The READMEs list every command with its options and every option with its default, and nothing else. */
import { join } from 'node:path';
import { pino } from 'pino';
import { beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../core/cli/load-config.ts';
import { settingsSchema } from '../../core/config.ts';
import { createGateway } from '../../core/gateway.ts';
import { listBundledPlugins } from '../support/inventory.ts';
import { listOptionRows } from '../support/option-rows.ts';
import { runVerb } from '../support/process.ts';
import { allReadmes } from '../support/readmes.ts';

const root = join(import.meta.dirname, '../..');

/** The cells of the table between two marks, without its head. */
function readTable(mark: string): string[][] {
  const [, text = ''] = new RegExp(`<!-- ${mark} -->\n(.*?)\n<!-- /${mark} -->`, 's').exec(allReadmes) ?? [];
  return text
    .split('\n')
    .slice(2)
    .map((row) =>
      row
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

function listCode(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text);
}

const listed = readTable('verbs').map(([verb = '', options = '']) => ({
  verb: listCode(verb)[0] ?? '',
  options: listCode(options).toSorted(),
}));
const own = ['start', 'init', 'import', 'check', 'doctor'];

it('the README has every verb of the plugins with its options, and no other', async () => {
  const gateway = createGateway(await loadConfig(join(root, 'gateway.config.ts')), pino({ level: 'silent' }));
  const verbs = [...gateway.commands.list()].map(({ name, options = [] }) => ({
    verb: name,
    options: options.map(({ flags }) => flags.split(' ')[0] ?? '').toSorted(),
  }));
  await gateway.close();
  const sortVerbs = (list: { verb: string }[]): object[] =>
    list.toSorted((first, second) => (first.verb < second.verb ? -1 : 1));
  const plain = verbs.map(({ verb, options }) => ({
    verb,
    options: options.filter((flag) => flag !== '--url'),
  }));
  expect(sortVerbs(listed.filter(({ verb }) => !own.includes(verb.split(' ')[0] ?? '')))).toEqual(
    sortVerbs(plain),
  );
  const [, lacking = ''] = /of that gateway; ([^;]*) have no `--url`/.exec(allReadmes) ?? [];
  const local = verbs.filter(({ options }) => !options.includes('--url'));
  expect(listCode(lacking).toSorted()).toEqual(
    local.map(({ verb }) => verb.replace(/ [<[].*/, '')).toSorted(),
  );
});

it("the README has the verbs that are no plugin's", async () => {
  const { output } = await runVerb(['--help'], { TOLLGATE_CONFIG: join(root, 'no such file') });
  const commands = [...output.matchAll(/^ {2}(\w+) /gm)]
    .map(([, verb]) => verb)
    .filter((verb) => verb !== 'help');
  expect(commands.toSorted()).toEqual(own.toSorted());
  for (const verb of own) {
    const { output: help } = await runVerb([verb, '--help']);
    const options = [...help.matchAll(/^ {2}(--[\w-]+)/gm)]
      .map(([, option]) => option)
      .filter((option) => option !== '--json');
    expect([verb, listed.find((row) => row.verb.split(' ')[0] === verb)?.options]).toEqual([
      verb,
      options.toSorted(),
    ]);
  }
});

type Rows = [option: string, fallback: string | undefined][];

/** What the table says of each plugin by its path. */
function readOptions(): Map<string, Rows> {
  const all = new Map<string, Rows>();
  let current: Rows = [];
  for (const [first = '', fallback = ''] of readTable('options')) {
    const heading = /^\*\*(.*)\*\*$/.exec(first)?.[1];
    if (heading === undefined)
      current.push(...listCode(first).map((option): Rows[number] => [option, listCode(fallback)[0]]));
    else {
      current = [];
      const folder = heading.includes('/') ? heading.slice(0, heading.indexOf('/') + 1) : '';
      for (const name of heading.slice(folder.length).split(', ')) all.set(folder + name, current);
    }
  }
  return all;
}

function sortRows(rows: Rows): Rows {
  return rows.toSorted(([first], [second]) => (first < second ? -1 : 1));
}

describe('the options of the README', () => {
  const listed = readOptions();
  const plugins = new Map<string, Rows>();
  beforeAll(async () => {
    const listRows = (schema: Parameters<typeof listOptionRows>[0]): Rows =>
      sortRows(listOptionRows(schema).map(({ option, fallback }) => [option, fallback]));
    plugins.set('the gateway', listRows(settingsSchema));
    for (const { path, factory } of await listBundledPlugins())
      plugins.set(path.slice('plugins/'.length), listRows(factory.options));
  });

  it('are those of every plugin that has any', () => {
    const having = [...plugins].filter(([, rows]) => rows.length > 0).map(([name]) => name);
    expect(having.length).toBeGreaterThan(30);
    expect([...listed.keys()].toSorted()).toEqual(having.toSorted());
  });

  it.each([...listed])('of %s are all there, with their defaults', (name, rows) => {
    expect(sortRows(rows)).toEqual(plugins.get(name));
  });
});
