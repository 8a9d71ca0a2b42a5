#!/usr/bin/env node
/**
 * The entry: what Node makes of the sources is kept from one start to the next, which halves the time to the first
 * call. It has to be asked for before anything else is loaded, and in JavaScript: a single file whose types were to
 * be stripped at every start would bring the stripper into memory.
 */
import { constants, enableCompileCache } from 'node:module';
import { setFlagsFromString } from 'node:v8';

// What runs often while files are loaded never runs again: to optimise it would bring V8's compilers into memory, 11 MB
// of a process that may have nothing to do for hours. The command line turns them on when there is work.
for (const flag of ['--no-opt', '--no-maglev']) setFlagsFromString(flag);

const { status, directory } = enableCompileCache();
// Threads of this process look for the folder in their environment.
if (directory && status !== constants.compileCacheStatus.FAILED) process.env['NODE_COMPILE_CACHE'] ??= directory;
await import('./command-line.ts');
