/**
 * Reads variables from the file `.env` beside the configuration, once, when a process starts. The
 * environment wins, so a container or a shell can replace what the file says. Workers inherit the variables
 * of their parent.
 */
import { readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseEnv } from 'node:util';
import { ConfigError } from '../util/errors.ts';
import { describeReason } from '../util/plugin-error.ts';

/** A value in quotes, where it may have line breaks, or one without `#`: Node would end it there. */
const value = /(?:(["'`])(?:(?!\1)[^])*\1[ \t]*|[^\s"'`#][^\n#]*)?/.source;

const variable = `(?:export[ \\t]+)?[A-Za-z_]\\w*[ \\t]*=[ \\t]*${value}(?:(?<=[ \\t])#.*)?`;

/** A line that is empty, a comment, or a variable. */
const line = new RegExp(`[ \\t]*(?:#.*|${variable})?(?:\\n|$)`, 'y');

/** The number of the first line that Node would skip or cut short without a word. */
function findBadLine(text: string): number | undefined {
  for (line.lastIndex = 0; line.lastIndex < text.length;) {
    const start = line.lastIndex;
    if (!line.test(text)) return text.slice(0, start).split('\n').length;
  }
  return undefined;
}

/** Undefined if there is no such file. Some tools have a folder of this name. */
function readText(file: string): string | undefined {
  try {
    if (statSync(file, { throwIfNoEntry: false })?.isDirectory() !== false) return undefined;
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new ConfigError(`${file} cannot be read: ${describeReason(error)}`, { cause: error });
  }
}

/**
 * Adds the variables of the file to the environment. Throws a `ConfigError` for a line that it cannot read,
 * without what is in the line: that may be a secret.
 */
export function loadEnvFile(configFile: string): void {
  const file = join(dirname(configFile), '.env');
  const text = readText(file)
    ?.replace(/^\uFEFF/, '')
    .replaceAll('\r\n', '\n');
  if (text === undefined) return;
  const bad = findBadLine(text);
  if (bad !== undefined)
    throw new ConfigError(
      `${file}: line ${bad} has to be a comment, or NAME=value; ` +
        'a value with a # or a quote in it is put between other quotes',
    );
  const variables = parseEnv(text);
  if (variables.TOLLGATE_CONFIG !== undefined && !process.env.TOLLGATE_CONFIG)
    throw new ConfigError(
      `${file}: TOLLGATE_CONFIG says where this file is: set it in the environment, before the start`,
    );
  for (const [name, value] of Object.entries(variables)) process.env[name] ??= value;
}
