/** What `--help` shows: verbs in the order of use. Errors of usage say where to find help. */
import type { Command as Program } from 'commander';
import { splitVerb } from '../host/commands.ts';
import type { Command } from '../plugin.ts';

/** The empty word is for all others, which stay as their plugin added them. */
const orderOfUse = [
  'create',
  'add',
  'set',
  'list',
  'show',
  '',
  'disable',
  'enable',
  'close',
  'delete',
  'remove',
];

function getRank(command: Command): number {
  const rank = orderOfUse.indexOf(splitVerb(command).words.at(-1) ?? '');
  return rank < 0 ? orderOfUse.indexOf('') : rank;
}

/** The verbs, with those of one first word together and in the order of use. */
export function orderVerbs(commands: Iterable<Command>): Command[] {
  const groups = Map.groupBy(commands, (command) => splitVerb(command).words[0]);
  return [...groups.values()].flatMap((group) =>
    group.toSorted((one, other) => getRank(one) - getRank(other)),
  );
}

/** Describes the first words of verbs, by `group` or else by the words after them. */
export function describeGroups(program: Program, commands: readonly Command[]): void {
  for (const group of program.commands.filter((each) => each.description() === '')) {
    const known = commands.find(
      (each) => each.group !== undefined && splitVerb(each).words[0] === group.name(),
    );
    group.description(known?.group ?? group.commands.map((each) => each.name()).join(', '));
  }
}

/** Shows the help of a verb of any number of words. Commander's own `help` reads only the first. */
export function showHelp(program: Program, words: readonly string[]): void {
  let shown = program;
  for (const word of words.filter((each) => !each.startsWith('-'))) {
    const next = shown.commands.find((command) => command.name() === word);
    if (!next) return shown.error(`unknown command '${word}'`);
    shown = next;
  }
  shown.outputHelp();
}

/** Gives commander's errors the form of our own, and ends them with where to find help. */
export function pointToHelp(command: Program, path = command.name()): void {
  command.configureOutput({
    outputError(text, write) {
      const fault = text
        .replace(/^error: /, '')
        .trim()
        .replace(/\.$/, '');
      write(`${path}: ${fault.replaceAll('\n', ' ')}; see ${path} --help\n`);
    },
  });
  for (const child of command.commands) pointToHelp(child, `${path} ${child.name()}`);
}
