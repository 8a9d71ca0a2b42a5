#!/usr/bin/env node
/**
 * The entry: what Node makes of the sources is kept from one start to the next, which halves the time to the first
 * call. It has to be asked for before anything else is loaded, and in JavaScript: a single file whose types were to
 * be stripped at every start would bring the stripper into memory.
 */
import { constants, enableCompileCache } from 'node:module';

const { status, directory } = enableCompileCache();
// Threads of this process look for the folder in their environment.
if (directory && status !== constants.compileCacheStatus.FAILED) process.env['NODE_COMPILE_CACHE'] ??= directory;
await import('./command-line.ts');
