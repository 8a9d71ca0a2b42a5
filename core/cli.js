#!/usr/bin/env node
/**
 * The entry: what Node makes of the sources is kept from one start to the next, which halves the time to the
 * first call. It has to be asked for before anything else is loaded, and in JavaScript: a single file whose
 * types were to be stripped at every start would bring the stripper into memory.
 */
import * as loader from 'node:module';
import { setFlagsFromString } from 'node:v8';

// An older Node would stop at the first named import it does not have, and not say why: so none is imported
// by name above.
const least = 24;
const major = Number.parseInt(process.versions.node, 10);
if (major < least) {
  process.stderr.write(
    `tollgate: it needs Node ${least} or later, and this is ${process.version} (${process.execPath})\n`,
  );
  process.exit(1);
}

// What runs often while files are loaded never runs again: to optimise it would bring V8's compilers into
// memory, 11 MB
// of a process that may have nothing to do for hours. The command line turns them on when there is work.
for (const flag of ['--no-opt', '--no-maglev']) setFlagsFromString(flag);

// Where objects of one kind often outlive a collection, V8 puts the next ones into the old generation from
// the start. One
// of a call's then keeps all that the call refers to until a full collection, long after the call is over:
// 100 MB under load.
setFlagsFromString('--no-allocation-site-pretenuring');

// After eight seconds without work V8 would make the process small: it drops the shapes of objects that no
// call holds just then, and with them the code it has made for calls, which the next ones take a quarter of a
// minute to get back. Older V8s do not have the flag, and print a complaint about it.
if (major >= 26) setFlagsFromString('--memory-reducer-delay-ms=60000');

// A report that Node writes of a process that fails would hold its environment, and with it the vendors'
// keys.
process.report.excludeEnv = true;

const { status, directory } = loader.enableCompileCache();
// Threads of this process look for the folder in their environment.
if (directory && status !== loader.constants.compileCacheStatus.FAILED)
  process.env['NODE_COMPILE_CACHE'] ??= directory;
await import('./process/command-line.ts');
