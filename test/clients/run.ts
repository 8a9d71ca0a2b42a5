/**
 * Conversations of five turns by the Python SDKs of OpenAI, towards strict vendors of all wires. It installs
 * them with pip in a folder that it removes, and prints a row for the table of `test/README.md`.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { answers, listFaults, questions, scriptTurns } from '../stored/five-turns.ts';
import { openFourWires, wires, type Wire } from '../support/four-wires.ts';

const run = promisify(execFile);
const ways = ['openai', 'agents history', 'agents previous', 'agents conversation', 'agents session'];

const folder = mkdtempSync(join(tmpdir(), 'tollgate-clients-'));
const python = join(folder, 'bin/python');
await run('python3', ['-m', 'venv', folder]);
await run(python, ['-m', 'pip', 'install', '--quiet', 'openai', 'openai-agents']);
const listed = await run(python, ['-m', 'pip', 'list', '--format=json']);
const packages: { name: string; version: string }[] = JSON.parse(listed.stdout);
const versions = packages
  .filter(({ name }) => /^openai(-agents)?$/.test(name))
  .map(({ name, version }) => `${name} ${version}`);

const harness = await openFourWires({ store: { for: '1h' } });
const env = {
  ...process.env,
  BASE_URL: `${harness.gateway.url}/v1`,
  KEY: harness.key,
  QUESTIONS: JSON.stringify(questions),
};

/** What went wrong; empty if nothing did. */
async function hold(way: string, wire: Wire, kind: 'plain' | 'thinking'): Promise<readonly string[]> {
  const model = scriptTurns(harness, wire, kind);
  try {
    const { stdout } = await run(python, [join(import.meta.dirname, 'five_turns.py'), way, model], { env });
    const isRight = stdout.trim() === answers.join('\n');
    return isRight ? listFaults(harness, wire) : [`it answered ${stdout}`];
  } catch (error) {
    return [String(error).slice(-600)];
  }
}

let faulty = 0;
for (const way of ways)
  for (const kind of ['plain', 'thinking'] as const) {
    const held = await Promise.all(wires.map((wire) => hold(way, wire, kind)));
    for (const [index, faults] of held.entries()) {
      if (faults.length > 0) faulty += 1;
      process.stdout.write(`${way}, ${wires[index]}, ${kind}: ${faults.join('; ') || 'well'}\n`);
    }
  }
const count = ways.length * wires.length * 2;
const day = new Date().toISOString().slice(0, 10);
process.stdout.write(`| ${day} | ${versions.join(', ')} | ${count - faulty} of ${count} |\n`);
await harness.close();
rmSync(folder, { recursive: true, force: true });
process.exitCode = faulty > 0 ? 1 : 0;
