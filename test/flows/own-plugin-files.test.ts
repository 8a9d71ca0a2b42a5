/** Plugins that are files of the operator's own: a reload reads them again, with what they import. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { waitUntil } from '../support/operated.ts';
import { makeDataFolder, startProcess, type RunningGateway } from '../support/process.ts';

const folder = makeDataFolder();
const write = (file: string, text: string): void => writeFileSync(join(folder, file), text);
const writeWords = (text: string): void =>
  write('words.ts', `export const words: string = ${JSON.stringify(text)};\n`);

let gateway: RunningGateway;
beforeAll(async () => {
  writeWords('first');
  write(
    'greeter.ts',
    `import { definePlugin } from 'tollgate';
     import { z } from ${JSON.stringify(import.meta.resolve('zod'))};
     import { words } from './words.ts';
     const reply = { status: 200, headers: { 'content-type': 'text/plain' }, body: words };
     export const greeter = definePlugin({
       name: 'greeter',
       options: z.strictObject({}),
       apply({ routes }) {
         const encodeError = () => ({ status: 500, body: 'no' });
         routes.add({
           name: 'words', method: 'GET', path: '/words', access: 'public',
           encodeError, handle: async () => reply,
         });
       },
     });`,
  );
  write(
    'gateway.config.ts',
    `import { greeter } from './greeter.ts';
     export default {
       server: { port: Number(process.env.PORT) },
       dataFolder: ${JSON.stringify(folder)},
       plugins: [greeter()],
     };`,
  );
  gateway = await startProcess({ TOLLGATE_CONFIG: join(folder, 'gateway.config.ts') });
});

async function fetchWords(): Promise<string> {
  return (await fetch(`${gateway.url}/words`)).text();
}

it('a file that a plugin imports takes effect soon after it was written, without a signal', async () => {
  expect(await fetchWords()).toBe('first');
  writeWords('second');
  await waitUntil(async () => (await fetchWords()) === 'second');
  await waitUntil(() => gateway.printed().includes('the configuration was read again'));
});

it('a plugin that does not load is logged with file and line, and the one before it stays', async () => {
  write('words.ts', 'export const words = ;\n');
  await waitUntil(() => gateway.printed().includes('the new configuration was refused'));
  expect(gateway.printed()).toContain(`${join(folder, 'words.ts')}, line 1`);
  expect(await fetchWords()).toBe('second');
  writeWords('third');
  await waitUntil(async () => (await fetchWords()) === 'third');
});

it('SIGHUP reads a plugin again too', async () => {
  const countReadings = (): number => gateway.printed().split('the configuration was read again').length;
  const before = countReadings();
  gateway.child.kill('SIGHUP');
  await waitUntil(() => countReadings() > before);
  expect(await fetchWords()).toBe('third');
});
