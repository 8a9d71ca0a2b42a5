/**
 * `npm run replay -- <folder>`: replays recorded exchanges and prints what differs, by class. Exits with 1 on
 * an undeclared one.
 */
import type { Difference } from './compare.ts';
import { findDeclaration } from './declared.ts';
import { replayFolder } from './replay.ts';

const most = 20;

function formatLine({ recording, client, detail }: Difference): string {
  return `    ${recording} through ${client}: ${detail}`;
}

function print(differences: readonly Difference[], title: string): void {
  for (const [name, group] of Map.groupBy(differences, ({ class: name }) => name)) {
    const lines = [...new Set(group.map(formatLine))];
    const more = lines.length > most ? [`    and ${lines.length - most} more`] : [];
    process.stdout.write(
      [`  ${name} (${group.length}, ${title})`, ...lines.slice(0, most), ...more, ''].join('\n'),
    );
  }
}

const folder = process.argv[2];
if (folder === undefined) {
  process.stderr.write(
    'usage: npm run replay -- <folder of recorded exchanges; test/README.md describes them>\n',
  );
  process.exit(2);
}
const { recordings, trials, differences } = await replayFolder(folder);
const [known, unknown] = [
  differences.filter((each) => findDeclaration(each)),
  differences.filter((each) => !findDeclaration(each)),
];
process.stdout.write(
  `${recordings} recordings, ${trials} calls, ${known.length} ` +
    `declared differences, ${unknown.length} undeclared\n`,
);
for (const [reason, group] of Map.groupBy(known, (each) => findDeclaration(each)?.reason ?? '')) {
  process.stdout.write(`  ${group[0]?.class} (${group.length}, declared): ${reason}\n`);
}
print(unknown, 'undeclared');
process.exitCode = unknown.length > 0 ? 1 : 0;
