import { describe, expect, it } from 'vitest';
import { checkConfig } from '../../core/config.ts';
import { connectionFault, filesFor, mostConnections, openFiles } from '../../core/process/open-files.ts';

describe('connections where the configuration does not say how many', () => {
  it.each([
    [256, 96],
    [1024, 480],
    [20_000, 9968],
    [1_048_576, 20_000],
    [Infinity, 20_000],
  ])('of %d files are %d', (files, connections) => {
    expect(mostConnections(files)).toBe(connections);
    expect(filesFor(connections)).toBeLessThanOrEqual(files);
    expect(connectionFault(connections, files)).toBeUndefined();
  });

  it('are at least one, however few files there are', () => {
    expect(mostConnections(10)).toBe(1);
  });

  it('are as many as this process has files for', () => {
    const files = openFiles() ?? Infinity;
    expect(files).toBeGreaterThan(100);
    expect(checkConfig({ plugins: [] }, 'test').server.maxConnections).toBe(mostConnections(files));
  });
});

describe('connections that the configuration asks for', () => {
  it('are left alone, and told of where there are too few files for them', () => {
    expect(
      checkConfig({ server: { maxConnections: 1_000_000 }, plugins: [] }, 'test').server.maxConnections,
    ).toBe(1_000_000);
    expect(connectionFault(481, 1024)).toMatch(
      /maxConnections is 481.*1024 files.*Raise the limit to 1026 .*or lower server.maxConnections to 480\./,
    );
    expect(connectionFault(20_000, Infinity)).toBeUndefined();
  });
});
