/**
 * Resolves the bare name `tollgate` to the running copy in everything a configuration imports. A plugin
 * package then works the same next to a clone and next to an install, whichever copy its own folder holds,
 * and there is one core.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { registerHooks, createRequire, findPackageJSON } from 'node:module';
import { basename, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as Semver from 'semver';
import { z } from 'zod';
import { readOwnVersion } from '../util/own-version.ts';

const here = import.meta.url;
const [extension, form] = here.endsWith('.ts') ? ['.ts', 'tollgate-source'] : ['.js', 'default'];
/** The project's folder, or `dist` in a published package. */
const root = new URL('../../', here);

/** The plugins that exist next to a missing one; of `plugins` itself its folders. */
function describeSiblings(plugin: string): string {
  const folder = new URL(`${dirname(plugin)}/`, root);
  if (!existsSync(folder)) return `nor a folder ${dirname(plugin)}`;
  const entries = readdirSync(folder, { withFileTypes: true });
  const plugins = entries.filter(
    (entry) => !entry.isDirectory() || existsSync(new URL(`${entry.name}/index${extension}`, folder)),
  );
  const listNames = (found: typeof entries): string[] => [
    ...new Set(found.map(({ name }) => basename(name, extension)).filter((name) => /^[\w-]+$/.test(name))),
  ];
  const names = listNames(plugins);
  return names.length > 0
    ? `${dirname(plugin)} has ${names.join(', ')}`
    : `${dirname(plugin)} has the folders ${listNames(entries).join(', ')}`;
}

/** Files of the operator's own modules, besides the configuration: plugins that are in no package. */
export const ownModules = new Set<string>();

/** Code that is read once: packages, and this copy of the gateway. */
function isKept(url: string): boolean {
  return (
    !/^file:[^?#]*\.m?[jt]s$/.test(url) ||
    url.includes('/node_modules/') ||
    ['core/', 'plugins/', 'test/'].some((folder) => url.startsWith(new URL(folder, root).href))
  );
}

/** The URL of a module that a configuration imports has a number, so that each reading loads it again. */
function addReading(url: string, parent: string | undefined): string {
  const [, reading] = /[?&]reading=(\d+)$/.exec(parent ?? '') ?? [];
  if (reading === undefined || isKept(url)) return url;
  ownModules.add(fileURLToPath(url));
  return `${url}?reading=${reading}`;
}

let registered = false;

export function redirectImports(): void {
  if (registered) return;
  registered = true;
  registerHooks({
    resolve(specifier, context, next) {
      if (!/^tollgate(?=$|\/)/.test(specifier)) {
        const found = next(specifier, context);
        return { ...found, url: addReading(found.url, context.parentURL) };
      }
      checkPeer(context.parentURL);
      // `require` of a CommonJS plugin finds paths, and `import` finds URLs.
      if (context.conditions.includes('require'))
        return next(fileURLToPath(import.meta.resolve(specifier)), context);
      try {
        // Node resolves the name of the package that `here` is in by its own exports.
        return next(specifier, { ...context, parentURL: here, conditions: [...context.conditions, form] });
      } catch (error) {
        const [, plugin] = /^tollgate\/(plugins\/[\w./-]+)$/.exec(specifier) ?? [];
        if (plugin === undefined) throw error;
        throw new Error(`there is no ${specifier}; ${describeSiblings(plugin)}`, { cause: error });
      }
    },
  });
}

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

/**
 * A plugin package lists the gateway versions it works with in its `peerDependencies`. npm checks them if it
 * installs both, but not for a package next to a clone, where the running copy replaces the one it was built
 * with. So we check when a package imports `tollgate`. `module` is the importing module. Throws if its
 * package works with other versions than this one.
 */
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
