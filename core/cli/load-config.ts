/**
 * Finds and loads the configuration file, and the variables beside it. An error names the file, the plugin,
 * the option and the options there are.
 */
import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseEnv } from 'node:util';
import { type Config, checkConfig } from '../config.ts';
import { ConfigError } from '../util/errors.ts';
import { describeReason } from '../util/plugin-error.ts';
import { redirectImports } from './self-resolution.ts';

const usualNames = ['gateway.config.ts', 'gateway.config.js', 'gateway.config.mjs'] as const;

/** `TOLLGATE_CONFIG` if it is set and not empty, else the first default name in the working directory. */
export function resolveConfigFile(): string {
  return resolve(
    process.env.TOLLGATE_CONFIG || (usualNames.find((name) => existsSync(name)) ?? usualNames[0]),
  );
}

/** Why a file could not be loaded. For a syntax error it names the file and line. */
function describeLoadFault(error: unknown, path: string): string {
  if (!(error instanceof Error)) return String(error);
  // For example after "npm init", whose package.json makes every .js and .ts file CommonJS.
  if (error instanceof SyntaxError && /outside a module/.test(error.message))
    return (
      'it is read as CommonJS and has to be a module: ' +
      'write "type": "module" into the package.json above it, or name it .mts or .mjs'
    );
  const [, at, line] = (error instanceof SyntaxError && /^(.+?):(\d+)\n/.exec(error.stack ?? '')) || [];
  if (at === undefined) return describeReason(error);
  const file = at.startsWith('file:') ? fileURLToPath(at) : at;
  return `${file === path ? '' : `${file}, `}line ${line}: ${error.message}`;
}

const moduleName = /\.[cm]?[jt]s$/;

let readings = 0;

/**
 * Loads a configuration file. The operator's own modules that it imports are read again each time. Packages
 * and the gateway itself keep their code until the next start. The bare name `tollgate` means the running
 * copy in all of them, so there is one core.
 */
export async function loadConfig(path: string): Promise<Config> {
  if (!existsSync(path))
    throw new ConfigError(
      `${path}: there is no such file; "tollgate init" writes one, and TOLLGATE_CONFIG names another`,
    );
  if (statSync(path).isDirectory())
    throw new ConfigError(`${path}: it is a folder; name the file in it, such as ${usualNames[0]}`);
  if (!moduleName.test(path))
    throw new ConfigError(
      `${path}: it has to be a module, such as ${usualNames[0]}, ` +
        'that exports its configuration as default; "tollgate init" writes one',
    );
  redirectImports();
  // Node never looks again where a link leads, and Kubernetes updates files by a link to another folder.
  const real = realpathSync(path);
  const address = pathToFileURL(real);
  readings += 1;
  address.searchParams.set('reading', String(readings));
  let module: unknown;
  try {
    module = await import(address.href);
  } catch (error) {
    throw new ConfigError(`${path}: ${describeLoadFault(error, real)}`, { cause: error });
  }
  if (typeof module !== 'object' || module === null || !('default' in module))
    throw new ConfigError(`${path}: it has to export its configuration as default`);
  return checkConfig(module.default, path);
}

/** The variables that set options in the delivered configuration. */
const variables = { dataFolder: 'TOLLGATE_DATA', 'server.port': 'PORT', 'server.host': 'HOST' } as const;

/** Names an option in a message, with the variable that sets it if the configuration file reads that one. */
export function nameOption(file: string, option: keyof typeof variables): string {
  const variable = variables[option];
  const isRead = existsSync(file) && new RegExp(`\\b${variable}\\b`).test(readFileSync(file, 'utf8'));
  return isRead ? `${option} (${variable})` : option;
}

/** A value in quotes, where it may have line breaks, or one without `#`: Node would end it there. */
const writtenValue = /(?:(["'`])(?:(?!\1)[^])*\1[ \t]*|[^\s"'`#][^\n#]*)?/.source;

const writtenVariable = `(?:export[ \\t]+)?[A-Za-z_]\\w*[ \\t]*=[ \\t]*${writtenValue}(?:(?<=[ \\t])#.*)?`;

/** A line that is empty, a comment, or a variable. */
const line = new RegExp(`[ \\t]*(?:#.*|${writtenVariable})?(?:\\n|$)`, 'y');

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
 * Adds the variables of the file `.env` beside the configuration, once, when a process starts. The
 * environment wins, so a container or a shell can replace what the file says. Workers inherit those of their
 * parent. Throws a `ConfigError` for a line that it cannot read, without what is in the line: that may be a
 * secret.
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
