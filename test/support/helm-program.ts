/** Helm and the chart, for the scripts that render and package it. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** The output of other versions differs in comments. */
const helmVersion = 'v4.3.1';

export const chart = join(import.meta.dirname, '../../examples/deploy/helm');

/** Where programs and schemas are kept from run to run. */
export const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'tollgate');

export function run(command: string, args: readonly string[], more: Record<string, string> = {}): string {
  const env = { ...process.env, ...more };
  return execFileSync(command, args, { encoding: 'utf8', env, stdio: ['ignore', 'pipe', 'inherit'] });
}

/** Builds Helm once, with Go. */
export function installHelm(): string {
  const folder = join(cache, `helm-${helmVersion}`);
  const program = join(folder, 'helm');
  if (!existsSync(program))
    run('go', ['install', `helm.sh/helm/v4/cmd/helm@${helmVersion}`], { GOBIN: folder });
  return program;
}
