/**
 * What the delivered gateway holds before its first call. Memory of the process depends on the machine, so
 * the test counts live objects. Lower the limit when they become fewer.
 */
import { expect, it } from 'vitest';
import { startMeasured } from '../bench/measured.ts';

const megabyte = 1024 * 1024;

it('an idle gateway holds at most 33 MB of objects', async () => {
  const gateway = await startMeasured('rest', 'http://127.0.0.1:9');
  try {
    const heap = await gateway.idle();
    expect(heap / megabyte).toBeGreaterThan(10);
    expect(heap / megabyte).toBeLessThan(33);
  } finally {
    gateway.stop();
  }
});
