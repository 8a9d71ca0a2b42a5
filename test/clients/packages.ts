/**
 * Installs packages of Python with uv, in a folder that it removes, or in one below the folder that
 * `TOLLGATE_CLIENTS` names.
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';

const run = promisify(execFile);

export interface Packages {
  /** Where their programs are. */
  readonly programs: string;
  /** Runs a file of this folder, and returns what it prints. */
  runFile(name: string, words: readonly string[], env: NodeJS.ProcessEnv): Promise<string>;
  /** Prints a row for the table of `test/README.md`, and removes the packages. */
  finish(held: number, count: number): void;
}

const listed = z.array(z.object({ name: z.string(), version: z.string() }));

/** `bare` are installed without what they depend on; `absent` is left out though others depend on it. */
export async function installPackages(
  purpose: string,
  names: readonly string[],
  { bare = [], absent = [] }: { readonly bare?: readonly string[]; readonly absent?: readonly string[] } = {},
): Promise<Packages> {
  const kept = process.env.TOLLGATE_CLIENTS;
  const folder = kept ? join(kept, purpose) : mkdtempSync(join(tmpdir(), 'tollgate-clients-'));
  const programs = join(folder, 'bin');
  const python = join(programs, 'python');
  if (!existsSync(python)) await run('python3', ['-m', 'venv', folder]);
  await run(python, ['-m', 'pip', 'install', '--quiet', 'uv']);
  const overrides = join(folder, 'overrides.txt');
  writeFileSync(overrides, absent.map((name) => `${name}; sys_platform == 'none'\n`).join(''));
  const install = async (...words: readonly string[]): Promise<unknown> =>
    run(join(programs, 'uv'), ['pip', 'install', '--quiet', '--python', python, ...words]);
  await install('--overrides', overrides, ...names);
  if (bare.length > 0) await install('--no-deps', ...bare);
  const { stdout } = await run(python, ['-m', 'pip', 'list', '--format=json']);
  const versions = listed
    .parse(JSON.parse(stdout))
    .filter(({ name }) => names.includes(name) || bare.includes(name))
    .map(({ name, version }) => `${name} ${version}`);
  return {
    programs,
    runFile: async (name, words, env) =>
      (await run(python, [join(import.meta.dirname, name), ...words], { env })).stdout.trim(),
    finish(held, count) {
      const day = new Date().toISOString().slice(0, 10);
      process.stdout.write(`| ${day} | ${versions.join(', ')} | ${held} of ${count} |\n`);
      if (kept === undefined) rmSync(folder, { recursive: true, force: true });
      process.exitCode = held < count ? 1 : 0;
    },
  };
}
