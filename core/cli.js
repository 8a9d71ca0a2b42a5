#!/usr/bin/env node
/**
 * The entry point. It turns on Node's compile cache, which halves the time to the first call. The cache must
 * be on before any other file loads. This file is JavaScript, because one TypeScript file here would load the
 * type stripper at every start.
 */

import * as loader from 'node:module';
import { setFlagsFromString } from 'node:v8';

// An older Node stops at the first named import it lacks, without saying why. So nothing above is imported by
// name. Earlier releases of 24 and 25 cannot call providers through a proxy, and warn about SQLite.
const [major, minor] = process.versions.node.split('.', 2).map(Number);
if (major < 24 || (major === 24 && minor < 15) || (major === 25 && minor < 7)) {
  process.stderr.write(
    `tollgate: it needs Node 24.15, 25.7 or later, and this is ${process.version} (${process.execPath})\n`,
  );
  process.exit(1);
}

// Code that runs often while files load never runs again. Compiling it would load V8's compilers: 13 MB in a
// process that may idle for hours. The command line turns them on when there is work.
for (const flag of ['--no-opt', '--no-maglev', '--no-sparkplug']) setFlagsFromString(flag);

// If objects of one kind often survive a collection, V8 allocates later ones in the old generation. One such
// object then keeps a whole call's objects until a full collection, long after the call ended: 100 MB under
// load.
setFlagsFromString('--no-allocation-site-pretenuring');

// V8 would start a full collection when little is left to its limit: less than the size of the young
// generation. The buffers of calls count until they are collected, so a gateway with 30 calls a second would
// collect everything every five seconds, which cost V8's threads 12 % of its processor time. Now
// the old generation has to have grown by half of what the limit allows.
setFlagsFromString('--incremental-marking-soft-trigger=50');
setFlagsFromString('--incremental-marking-hard-trigger=90');

// After eight idle seconds V8 would shrink the process. It would drop the shapes of objects that no call
// uses, and the code compiled for calls, which takes 15 seconds to come back. Older versions of V8 lack this
// flag and print a warning.
if (major >= 26) setFlagsFromString('--memory-reducer-delay-ms=60000');

// A diagnostic report would contain the environment, and with it the providers' keys.
process.report.excludeEnv = true;

// Scripts ask for the version often. It needs none of the gateway's files, which take ten times as long.
if (process.argv.length === 3 && ['--version', '-V'].includes(process.argv[2])) {
  const { version } = loader.createRequire(import.meta.url)(loader.findPackageJSON(import.meta.url));
  process.stdout.write(`${version}\n`);
} else {
  const { status, directory } = loader.enableCompileCache();
  // Threads read the cache's folder from the environment.
  if (directory && status !== loader.constants.compileCacheStatus.FAILED)
    process.env['NODE_COMPILE_CACHE'] ??= directory;
  const { resolveQuickly } = await import('./cli/quick-resolution.ts');
  resolveQuickly();
  await import('./cli/command-line.ts');
}
