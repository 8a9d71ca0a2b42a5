import { describe, expect, it } from 'vitest';
import { mostBodies } from '../../core/bodies.ts';
import { checkConfig } from '../../core/config.ts';

const MiB = 1024 * 1024;
const GiB = 1024 * MiB;

describe('bytes of all bodies where the configuration does not say how many', () => {
  it.each([[1, GiB, 128], [1, 2 * GiB, 256], [1, 64 * GiB, 512], [4, 4 * GiB, 128], [1, Infinity, 512]])('are for %d workers in %d bytes of memory %d MiB', (workers, memory, most) => {
    expect(mostBodies({ bodyLimit: 32 * MiB, workers }, memory)).toBe(most * MiB);
  });

  it('are enough for one, however little memory there is', () => {
    expect(mostBodies({ bodyLimit: 32 * MiB, workers: 1 }, 100 * MiB)).toBe(32 * MiB);
    expect(checkConfig({ server: { bodyLimit: 600 * MiB }, plugins: [] }, 'test').server.bodiesLimit).toBe(600 * MiB);
  });

  it('go by the memory there is, and are left alone where they are named', () => {
    const { bodiesLimit } = checkConfig({ plugins: [] }, 'test').server;
    expect(bodiesLimit).toBe(mostBodies({ bodyLimit: 32 * MiB, workers: 1 }));
    expect(checkConfig({ server: { bodiesLimit: bodiesLimit + 1 }, plugins: [] }, 'test').server.bodiesLimit).toBe(bodiesLimit + 1);
    expect(() => checkConfig({ server: { bodyLimit: 2, bodiesLimit: 1 }, plugins: [] }, 'test')).toThrow('must not be smaller');
  });
});
