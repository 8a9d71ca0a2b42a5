/** CLI commands that plugins add. Duplicate names are an error when the configuration is read. */
import { Registry } from './registry.ts';

/** One option in commander syntax: `--credit <usd>`. */
export interface CommandOption {
  readonly flags: string;
  readonly description: string;
}

/** A command of the command line, such as `keys create`. It works while a server runs. */
export interface Command {
  /** The name, with arguments in commander syntax: `keys disable <key>`. */
  readonly name: string;
  readonly description: string;
  /** What all verbs with its first word are for; one of them says it, for `--help`. */
  readonly group?: string | undefined;
  readonly options?: readonly CommandOption[];
  /**
   * Receives text. The result is printed, as JSON with `--json` and as lines otherwise. `print` shows a line
   * before that, and with `--json` the value that the line is about, if it is about one.
   */
  run(
    args: readonly string[],
    options: Readonly<Record<string, string | boolean | undefined>>,
    print: (line: string, value?: unknown) => void,
  ): Promise<CommandResult>;
}

export interface CommandResult {
  /** What `--json` prints; undefined: nothing. */
  readonly json: unknown;
  readonly text: string;
  /** Whether a check found a fault: printed like a success, with exit code 1. */
  readonly failed?: boolean;
}

/** Verbs of the gateway itself, with what each does. */
export const ownVerbs = new Set(['start', 'check', 'doctor', 'init', 'completion']);

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
