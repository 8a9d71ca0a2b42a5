/**
 * Conversations of five turns by the Python SDKs of OpenAI, towards strict vendors of all wires. It prints a
 * row for the table of `test/README.md`.
 */
import { answers, listFaults, questions, scriptTurns } from '../stored/five-turns.ts';
import { openFourWires, wires, type Wire } from '../support/four-wires.ts';
import { installPackages } from './packages.ts';

const ways = ['openai', 'agents history', 'agents previous', 'agents conversation', 'agents session'];

const packages = await installPackages('openai', ['openai', 'openai-agents']);
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
    const answered = await packages.runFile('five_turns.py', [way, model], env);
    const isRight = answered === answers.join('\n');
    return isRight ? listFaults(harness, wire) : [`it answered ${answered}`];
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
await harness.close();
packages.finish(count - faulty, count);
