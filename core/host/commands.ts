/** CLI commands that plugins add. Duplicate names are an error when the configuration is read. */
import type { Command } from '../plugin.ts';
import { Registry } from '../util/registry.ts';

/** Verbs of the gateway itself, with what each does. */
export const ownVerbs = new Set(['start', 'check', 'doctor', 'init', 'import']);

/** The words of a verb, and its arguments in commander's syntax. */
export function splitVerb({ name }: Pick<Command, 'name'>): {
  readonly words: readonly string[];
  readonly parameters: readonly string[];
} {
  const words = name.trim().split(/\s+/);
  const own = words.findIndex((word) => /^[<[]/.test(word));
  return own < 0 ? { words, parameters: [] } : { words: words.slice(0, own), parameters: words.slice(own) };
}

export class Commands extends Registry<Command> {
  constructor() {
    super('command');
  }

  override add(command: Command): void {
    const { words } = splitVerb(command);
    const [first = ''] = words;
    if (!words.every((word) => /^[a-z][\w-]*$/i.test(word)) || first === '')
      throw new Error(
        `command "${command.name}": a verb starts with a word of letters, before its arguments`,
      );
    if (ownVerbs.has(first) || first === 'help')
      throw new Error(`command "${command.name}": "${first}" is one of the gateway's own verbs`);
    const typed = words.join(' ');
    const taken = [...this.list()].find((known) => splitVerb(known).words.join(' ') === typed);
    if (taken)
      throw new Error(
        `command "${command.name}": the verb "${typed}" already belongs ` +
          `to the plugin "${this.getOwner(taken)}"`,
      );
    const reserved = command.options?.find(({ flags }) => /(^|[\s,])(--json|--help|-h)\b/.test(flags));
    if (reserved)
      throw new Error(`command "${command.name}": the option "${reserved.flags}" exists on every verb`);
    super.add(command);
  }
}
