/**
 * `npm run check`: types, lint, format, unused code and patterns, side by side. It prints what failed. Types
 * have one thread: several check what they share again, which takes twice the processor time.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';

const { scripts }: { scripts: Record<string, string> } = JSON.parse(readFileSync('package.json', 'utf8'));

async function check(name: string, more = ''): Promise<void> {
  const command = `${scripts[name]} ${more}`.replaceAll(/\btsc\b/g, 'tsc --singleThreaded');
  const child = spawn(command, { shell: true, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const [code] = await once(child, 'close');
  if (code === 0) return;
  process.stderr.write(`npm run ${name}\n${output}\n`);
  process.exitCode = 1;
}

await Promise.all([
  check('types'),
  check('lint'),
  check('format', '--check'),
  check('knip'),
  check('patterns', '--check'),
]);
