/**
 * A plugin package says in its `peerDependencies` which versions of the gateway it works with. npm looks at
 * that where it installs both; beside a clone nobody does, and the running copy stands in for whatever the
 * package was made with. So it is looked at here, when a package asks for `tollgate` by name.
 */
import { readFileSync } from 'node:fs';
import { createRequire, findPackageJSON } from 'node:module';
import { basename } from 'node:path';
import type * as Semver from 'semver';
import { z } from 'zod';

const packageSchema = z.object({
  name: z.string().optional(),
  version: z.string().optional(),
  peerDependencies: z.record(z.string(), z.string()).optional(),
});
const require = createRequire(import.meta.url);
const fitting = new Set<string>();

function read(file: string): z.output<typeof packageSchema> {
  return packageSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
}

/** Passed the module that asks. Throws where its package works with other versions than this one. */
export function checkPeer(module: string | undefined): void {
  const file = module === undefined ? undefined : findPackageJSON(module);
  // Where there is none, Node names a folder.
  if (file === undefined || basename(file) !== 'package.json' || fitting.has(file)) return;
  const { name = file, peerDependencies } = read(file);
  const range = peerDependencies?.tollgate;
  if (range !== undefined) checkRange(name, range);
  fitting.add(file);
}

function checkRange(name: string, range: string): void {
  // Read when it is wanted, and while a module is resolved, which cannot wait: most gateways have no plugins
  // of others.
  const semver: typeof Semver = require('semver');
  const { version = '' } = read(findPackageJSON(import.meta.url) ?? '');
  // A peer may also be a path or a tag, which says nothing of versions.
  if (semver.validRange(range) === null || semver.satisfies(version, range, { includePrerelease: true }))
    return;
  throw new Error(
    `the package "${name}" works with tollgate ${range}, and this is ${version}: install the version of it that was made for this one`,
  );
}
