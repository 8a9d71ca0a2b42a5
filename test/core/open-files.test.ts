import { expect, it } from 'vitest';
import { checkConfig } from '../../core/config.ts';
import {
  checkConnections,
  computeNeededFiles,
  computeMostConnections,
  readOpenFilesLimit,
} from '../../core/http/open-files.ts';

it.each([
  [256, 96],
  [1024, 480],
  [20_000, 9968],
  [1_048_576, 20_000],
  [Infinity, 20_000],
])('the default number of connections is, for %d file descriptors, %d', (files, connections) => {
  expect(computeMostConnections(files)).toBe(connections);
  expect(computeNeededFiles(connections)).toBeLessThanOrEqual(files);
  expect(checkConnections(connections, files)).toBeUndefined();
});

it('the default number of connections is at least one, however few file descriptors there are', () => {
  expect(computeMostConnections(10)).toBe(1);
});

it('the default number of connections follows the file descriptors of this process', () => {
  const files = readOpenFilesLimit() ?? Infinity;
  expect(files).toBeGreaterThan(100);
  expect(checkConfig({ plugins: [] }, 'test').server.maxConnections).toBe(computeMostConnections(files));
});

it('the gateway keeps the configured number, and warns if there are too few file descriptors', () => {
  expect(
    checkConfig({ server: { maxConnections: 1_000_000 }, plugins: [] }, 'test').server.maxConnections,
  ).toBe(1_000_000);
  expect(checkConnections(481, 1024)).toMatch(
    /maxConnections is 481.*1024 files.*Raise the limit to 1026 .*or lower server.maxConnections to 480\./,
  );
  expect(checkConnections(20_000, Infinity)).toBeUndefined();
});
