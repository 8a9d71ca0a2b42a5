/** Every start after the first finds compiled sources in Node's compile cache. */
import { beforeAll, expect, it } from 'vitest';
import { makeFolder } from '../support/folder.ts';
import { makeDataFolder, startProcess } from '../support/process.ts';

const cache = makeFolder();

beforeAll(async () => {
  const first = await startProcess({ TOLLGATE_DATA: makeDataFolder(), NODE_COMPILE_CACHE: cache });
  await first.stop('SIGTERM');
});

it('the second start strips no types and compiles no file', async () => {
  const gateway = await startProcess({
    TOLLGATE_DATA: makeDataFolder(),
    NODE_COMPILE_CACHE: cache,
    NODE_DEBUG_NATIVE: 'COMPILE_CACHE',
  });
  const { output, errors } = await gateway.stop('SIGTERM');
  const message = output + errors;
  expect(message.match(/was accepted/g)?.length).toBeGreaterThan(300);
  expect(message).toContain('plugins/meters/balance/sqlite/worker.ts');
  expect(message).not.toMatch(/saving transpilation|was (rejected|not initialized)/);
});
