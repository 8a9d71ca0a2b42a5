/**
 * Writes the completion scripts of bash, zsh and fish. A script holds all verbs and options of the current
 * configuration, because a shell cannot wait for the gateway to read it at each Tab.
 */
import type { Command } from 'commander';

export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

/** One verb with what may follow it; the path of the program itself is empty. */
interface Verb {
  /** The words before, each with a space in front: ` keys create`. */
  readonly path: string;
  readonly next: readonly { readonly word: string; readonly description: string }[];
}

function listVerbs(command: Command, path = ''): Verb[] {
  const words = command.commands.map((child) => ({ word: child.name(), description: child.description() }));
  const options = [...command.options, { long: '--help', description: 'show help' }].flatMap(
    ({ long, description }) => (long ? [{ word: long, description }] : []),
  );
  return [
    { path, next: [...words, ...options] },
    ...command.commands.flatMap((child) => listVerbs(child, `${path} ${child.name()}`)),
  ];
}

/** Single quotes keep every character but themselves, in all three shells. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'"'"'`)}'`;
}

function listPaths(verbs: readonly Verb[], separator: string): string {
  return verbs
    .filter(({ path }) => path !== '')
    .map(({ path }) => quote(path))
    .join(separator);
}

function joinWords({ next }: Verb): string {
  return next.map(({ word }) => word).join(' ');
}

/** bash and zsh share the walk along the typed words, and differ in how they name and offer words. */
function writePosix(verbs: readonly Verb[], typed: string, offer: (words: string) => string): string[] {
  return [
    '_tollgate() {',
    "  local at='' word",
    `  for word in ${typed}; do`,
    `    case "$at $word" in ${listPaths(verbs, '|')}) at="$at $word" ;; esac`,
    '  done',
    '  case "$at" in',
    ...verbs.map((verb) => `    ${quote(verb.path)}) ${offer(joinWords(verb))} ;;`),
    '  esac',
    '}',
  ];
}

function writeFish(verbs: readonly Verb[]): string[] {
  return [
    'function __tollgate_at',
    "  set -l at ''",
    '  for word in (commandline -opc)[2..-1]',
    '    switch "$at $word"',
    `      case ${listPaths(verbs, ' ')}`,
    '        set at "$at $word"',
    '    end',
    '  end',
    '  echo "at$at"',
    'end',
    'complete -c tollgate -f',
    ...verbs.flatMap(({ path, next }) =>
      next.map(({ word, description }) => {
        const offered = word.startsWith('--') ? `-l ${word.slice(2)}` : `-a ${word}`;
        const condition = quote(`test (__tollgate_at) = "at${path}"`);
        return `complete -c tollgate -n ${condition} ${offered} -d ${quote(description)}`;
      }),
    ),
  ];
}

export function writeCompletion(shell: Shell, program: Command): string {
  const help = { word: 'help', description: 'show help of a verb' };
  // It is no verb of a path, so the words after it are completed as if it were not there.
  const verbs = listVerbs(program).map((verb) =>
    verb.path === '' ? { ...verb, next: [help, ...verb.next] } : verb,
  );
  const scripts: Record<Shell, () => string[]> = {
    bash: () => [
      ...writePosix(
        verbs,
        '"${COMP_WORDS[@]:1:COMP_CWORD-1}"',
        (words) => `COMPREPLY=($(compgen -W ${quote(words)} -- "\${COMP_WORDS[COMP_CWORD]}"))`,
      ),
      'complete -o default -F _tollgate tollgate',
    ],
    zsh: () => [
      '#compdef tollgate',
      ...writePosix(verbs, '"${(@)words[2,CURRENT-1]}"', (words) => `compadd -- ${words}`),
      'compdef _tollgate tollgate',
    ],
    fish: () => writeFish(verbs),
  };
  return scripts[shell]().join('\n');
}
