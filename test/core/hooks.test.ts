/** The hooks as declared: a call meets them in that order, and the README describes them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { createHooks } from '../../core/hooks.ts';
import { definePlugin } from '../../core/index.ts';
import { ask } from '../../examples/protocol.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { startGateway } from '../support/gateway.ts';

const root = join(import.meta.dirname, '../..');
const names = Object.keys(createHooks());

it('a call fires the hooks in the order in which they are declared', async () => {
  const met = new Set<string>();
  const meet = (name: string) => async () => void met.add(name);
  const recorder = definePlugin({
    name: 'recorder',
    options: z.strictObject({}),
    apply({ hooks }) {
      for (const name of ['ready', 'meter', 'observe', 'close'] as const)
        hooks[name].tapPromise('recorder', meet(name));
      hooks.authenticate.tapPromise(
        'recorder',
        async () => (met.add('authenticate'), { kind: 'user', account: 'a', key: 'k' }),
      );
      hooks.replay.tapPromise('recorder', async () => (met.add('replay'), undefined));
      hooks.route.tapPromise('recorder', async (targets) => (met.add('route'), targets));
      hooks.authorize.tapPromise('recorder', async (grant) => (met.add('authorize'), grant));
      hooks.attempt.tap('recorder', () => (met.add('attempt'), undefined));
      hooks.transformRequest.tapPromise(
        { name: 'recorder', when: () => true },
        async (request) => (met.add('transformRequest'), request),
      );
      hooks.dispatch.tapPromise(
        { name: 'recorder', before: 'demo' },
        async () => (met.add('dispatch'), undefined),
      );
      hooks.transformStream.tap(
        { name: 'recorder', when: () => true },
        (events) => (met.add('transformStream'), events),
      );
    },
  });
  const gateway = await startGateway({ plugins: [ask(), chatCompletions(), demo({ pace: 0 }), recorder()] });
  const reply = await fetch(`${gateway.url}/ask`, {
    method: 'POST',
    body: '{"model":"demo/echo","ask":"Hello!","stream":true}',
  });
  expect(await reply.text()).toContain('"ended":"stop"');
  await gateway.ended(1);
  await gateway.close();
  expect([...met]).toEqual(names);
});

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
