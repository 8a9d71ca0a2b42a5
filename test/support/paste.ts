/**
 * Pastes commands of a page into a shell beside a gateway that runs. The project's own command is a script
 * there, which has the process of all tests' commands run it: a process for each takes ten times as long.
 */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { findAdminUrl } from './admin-url.ts';
import { makeDataFolder, runVerb, type RunningGateway } from './process.ts';
import { serve } from './serve.ts';

/** Sends its folder, words and environment, and prints what comes back as the command would. */
const buildScript = (url: string): string => `#!/bin/bash
{ printf '%s\\0' "$PWD" "$#" "$@"; env -0; } | curl --silent --show-error --data-binary @- ${url} | {
  IFS= read -rd '' code; IFS= read -rd '' output; IFS= read -rd '' errors
  printf %s "$output"
  printf %s "$errors" >&2
  exit "\${code:-1}"
}
`;

function parseVariable(text: string): [name: string, value: string] {
  const at = text.indexOf('=');
  return [text.slice(0, at), text.slice(at + 1)];
}

/** A folder with the command in it. */
async function makeCommand(): Promise<string> {
  const server = createServer(async (request, response) => {
    const [folder = '', count, ...rest] = (await text(request)).split('\0');
    const variables = rest.splice(Number(count)).filter(Boolean).map(parseVariable);
    const { code, output, errors } = await runVerb(rest, Object.fromEntries(variables), { folder });
    response.end(`${code ?? 1}\0${output}\0${errors}\0`);
  });
  const folder = makeDataFolder();
  writeFileSync(join(folder, 'tollgate'), buildScript((await serve(server)).origin), { mode: 0o755 });
  return folder;
}

export interface Pasting {
  /** A text of a page with the addresses of this gateway. */
  readdress(text: string): string;
  /** Pastes lines into one shell in a folder, and returns what it printed. */
  paste(lines: string, folder: string): Promise<string>;
}

/** `tools` is a folder of further programs. */
export async function openPasting(
  gateway: RunningGateway,
  environment: Readonly<Record<string, string>>,
  tools = '',
): Promise<Pasting> {
  const { HOME = '', PATH = '' } = process.env;
  const { host, port } = new URL(gateway.url);
  const folders = [await makeCommand(), ...(tools ? [tools] : []), dirname(process.execPath), PATH];
  const env = {
    HOME,
    KEY: /export KEY=(\S+)/.exec(gateway.printed())?.[1],
    PATH: folders.join(':'),
    PORT: port,
    ...environment,
  };
  const readdress = (text: string): string =>
    text
      .replaceAll('127.0.0.1:8787', host)
      .replaceAll('http://127.0.0.1:8788', findAdminUrl(gateway.printed()));
  return {
    readdress,
    async paste(lines, folder) {
      const command = readdress(lines).replaceAll('npm run --silent tollgate --', 'tollgate');
      const words = ['-e', '-o', 'pipefail', '-c', command];
      return (await promisify(execFile)('bash', words, { cwd: folder, env })).stdout;
    },
  };
}
