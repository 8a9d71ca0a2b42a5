/**
 * A plugin package lists the gateway versions it works with in its `peerDependencies`. npm checks them if it
 * installs both, but not for a package next to a clone, where the running copy replaces the one it was built
 * with. So we check when a package imports `tollgate`.
 */
import { readFileSync } from 'node:fs';
import { createRequire, findPackageJSON } from 'node:module';
import { basename } from 'node:path';
import type * as Semver from 'semver';
import { z } from 'zod';
import { readOwnVersion } from './own-version.ts';

const packageSchema = z.object({
  name: z.string().optional(),
  version: z.string().optional(),
  peerDependencies: z.record(z.string(), z.string()).optional(),
});
const require = createRequire(import.meta.url);
const fitting = new Set<string>();

function readPackage(file: string): z.output<typeof packageSchema> {
  return packageSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
}

/** `module` is the importing module. Throws if its package works with other versions than this one. */
export function checkPeer(module: string | undefined): void {
  const file = module === undefined ? undefined : findPackageJSON(module);
  // If there is none, Node returns a folder.
  if (file === undefined || basename(file) !== 'package.json' || fitting.has(file)) return;
  const { name = file, peerDependencies } = readPackage(file);
  const range = peerDependencies?.tollgate;
  if (range !== undefined) checkRange(name, range);
  fitting.add(file);
}

function checkRange(name: string, range: string): void {
  // Read on demand, synchronously, because a module is being resolved. Most gateways have no third-party
  // plugins.
  const semver: typeof Semver = require('semver');
  const version = readOwnVersion();
  // A peer may also be a path or a tag, which has no version.
  if (semver.validRange(range) === null || semver.satisfies(version, range, { includePrerelease: true }))
    return;
  throw new Error(
    `the package "${name}" works with tollgate ${range}, and this is ${version}: ` +
      'install a version of the package that supports it',
  );
}
