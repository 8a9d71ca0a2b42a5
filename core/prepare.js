/**
 * What npm runs last when it installs a clone: one start and its end, with a ledger that is thrown away. Node has then
 * made of the sources what it makes of them, and the first start that somebody waits for is as quick as the others.
 * Without it that start takes three times as long, and keeps what strips the types: 40 MB until the next one. Nothing
 * relies on it: where it fails, or is not run, the first start does the same.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Milliseconds after which an install is not held up any longer. */
const longest = 60_000;

/** Of whoever installs, no keys: a provider that is switched on might be asked for its models. */
const kept = ['PATH', 'HOME', 'TMPDIR', 'TEMP', 'SystemRoot', 'NODE_COMPILE_CACHE'];
const environment = Object.fromEntries(kept.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])));

const folder = mkdtempSync(join(tmpdir(), 'tollgate-'));
const command = fileURLToPath(new URL('cli.js', import.meta.url));
const started = spawn(process.execPath, [command, 'start'], { env: { ...environment, PORT: '0', TOLLGATE_DATA: folder }, stdio: ['ignore', 'pipe', 'ignore'], timeout: longest, killSignal: 'SIGKILL' });
started.stdout.once('data', () => started.kill());
started.once('close', () => rmSync(folder, { recursive: true, force: true }));
