/** The README describes the hooks as they are declared. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createHooks } from '../../core/hooks.ts';

const root = join(import.meta.dirname, '../..');
const names = Object.keys(createHooks());

/** The names of types in a text, in their order; without promises. */
function listTypes(text: string): string[] {
  return [...text.matchAll(/\b[A-Z]\w+/g)].map(([name]) => name).filter((name) => name !== 'Promise');
}

/** What core/hooks.ts says of each hook: how it is tapped, what it passes and what it returns. */
function readHooks(): object[] {
  const [, body = ''] =
    /export interface Hooks \{\n(.*?)\n\}/s.exec(readFileSync(join(root, 'core/hooks.ts'), 'utf8')) ?? [];
  const members = [...body.matchAll(/^ {2}readonly (\w+): (.*?);$(?=\n {2}\/|\n*(?![^]))/gms)];
  return members.map(([, hook = '', written = '']) => {
    const type = written.replace(/\s+/g, ' ').replace(/,? \): void; \}$/, '');
    const [, simple = '', result = ''] = /^\w+<\[(.*)\], (.*)>$/.exec(type) ?? [];
    const [, parameters = simple, answer = result] = /tap: \((.*)\) => (.*)$/.exec(type) ?? [];
    return {
      hook,
      waits: type.includes('tapPromise') || type.startsWith('AsyncTap'),
      passes: listTypes(parameters),
      gives: listTypes(answer),
    };
  });
}

it('the README lists each hook with what it passes and returns', () => {
  const [, section = ''] =
    /^## Hooks$(.*?)(?:^## |$(?![^]))/ms.exec(readFileSync(join(root, 'core/README.md'), 'utf8')) ?? [];
  const joinQuotes = (cell: string): string =>
    [...cell.matchAll(/`([^`]*)`/g)].map(([, text]) => text).join(' ');
  const documented = [...section.matchAll(/^\| `(\w+)`( \(`tap`\))? \|(.+)\|(.*)\|(.*)\|$/gm)].map(
    ([, hook, tap, , passes = '', gives = '']) => ({
      hook,
      waits: tap === undefined,
      passes: listTypes(joinQuotes(passes)),
      gives: listTypes(joinQuotes(gives)),
    }),
  );
  expect(documented).toEqual(readHooks());
  expect(documented.map(({ hook }) => hook)).toEqual(names);
});
