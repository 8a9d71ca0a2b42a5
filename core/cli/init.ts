/**
 * `tollgate init` writes a first configuration. It is the project's own, with its comments. Providers without
 * a key in the environment become comments that say how to turn them on.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import { z } from 'zod';
import { checkConfig } from '../config.ts';
import { createGateway } from '../gateway.ts';
import type { Plugin } from '../plugin.ts';
import { ConfigError } from '../util/errors.ts';
import { describeReason } from '../util/plugin-error.ts';
import { redirectImports } from './self-resolution.ts';

type Written = Awaited<ReturnType<typeof writeFirstConfig>>;

const isClone = import.meta.url.endsWith('.ts');
/** A published package ships this file as text next to `core`; it is never run. */
const template = new URL('../../gateway.config.ts', import.meta.url);
/** How to run verbs if `tollgate` is not on the path. */
const command = isClone ? 'npm run --silent tollgate --' : 'npx tollgate';

/** An install gets JavaScript: `.mjs`, unless its package.json makes `.js` files modules. */
function chooseFileName(): string {
  if (isClone) return 'gateway.config.ts';
  const packageSchema = z.looseObject({ type: z.string().optional() });
  const type = existsSync('package.json')
    ? packageSchema.parse(JSON.parse(readFileSync('package.json', 'utf8'))).type
    : undefined;
  return type === 'module' ? 'gateway.config.js' : 'gateway.config.mjs';
}

/** Where the configuration goes. Throws a `ConfigError` if it exists and `force` is not set. */
export function chooseFile(force: boolean): string {
  const file = resolve(process.env.TOLLGATE_CONFIG || chooseFileName());
  if (existsSync(file) && !force)
    throw new ConfigError(`${file} already exists and was not changed; --force replaces it`);
  return file;
}

export function writeFile(file: string, text: string, force: boolean): void {
  try {
    writeFileSync(file, text, { flag: force ? 'w' : 'wx' });
  } catch (error) {
    throw new ConfigError(`${file} cannot be written: ${describeReason(error)}`, { cause: error });
  }
}

/** The project's own configuration, with package names to import from in place of paths. */
export function readTemplate(): string {
  return readFileSync(template, 'utf8')
    .replaceAll("'./core/index.ts'", "'tollgate'")
    .replaceAll(/'\.(\/plugins\/[\w/-]+?)(?:\/index)?\.ts'/g, "'tollgate$1'");
}

interface Listed {
  readonly name: string;
  readonly from: string;
}

function listProviders(text: string): Listed[] {
  return [...text.matchAll(/^import \{ (\w+) \} from '(tollgate\/plugins\/providers\/[\w/-]+)';$/gm)].map(
    ([, name = '', from = '']) => ({ name, from }),
  );
}

const moduleSchema = z.record(
  z.string(),
  z.custom<() => Plugin>((factory) => typeof factory === 'function'),
);

async function makePlugin({ name, from }: Listed): Promise<Plugin> {
  const factory = moduleSchema.parse({ ...(await import(from)) })[name];
  if (!factory) throw new ConfigError(`${from} has no ${name}`);
  return factory();
}

/** Removes a provider: its import goes, and a comment takes its place in the list. */
function omitProvider(text: string, { name, from }: Listed, remedy: string): string {
  return text
    .replace(`import { ${name} } from '${from}';\n`, '')
    .replace(
      new RegExp(`^( *)(${name}\\(.*\\)),$`, 'm'),
      `$1// $2: ${remedy}, and import it from '${from}'.`,
    );
}

/** Writes the file. Throws a `ConfigError` if it exists and `force` is not set. */
export async function writeFirstConfig(logger: Logger, { force = false }: { readonly force?: boolean }) {
  const file = chooseFile(force);
  redirectImports();
  let text = readTemplate();
  const providers = listProviders(text);
  const plugins = await Promise.all(providers.map(makePlugin));
  // The providers themselves decide whether they are on, as at a start.
  const gateway = createGateway(checkConfig({ plugins }, fileURLToPath(template)), logger);
  await gateway.close();
  /** The providers in the file, and the missing ones, each with its remedy. */
  const on: string[] = [];
  const off: Record<string, string> = {};
  for (const [index, { name }] of plugins.entries()) {
    const [provider, remedy] = [providers[index], gateway.off.get(name)];
    if (!provider || remedy === undefined) on.push(name);
    else {
      off[name] = remedy;
      text = omitProvider(text, provider, remedy);
    }
  }
  writeFile(file, text, force);
  return { file, on, off };
}

export function formatSummary({ file, on, off }: Written): string {
  const missing = Object.entries(off).map(([name, remedy]) => `  ${name}: ${remedy}`);
  return [
    `Wrote ${file}.`,
    `Providers in it: ${on.join(', ')}.`,
    ...(missing.length > 0 ? ['No key was found for these; they are comments in the file:', ...missing] : []),
    `Next: ${['check', 'doctor', 'start'].map((verb) => `${command} ${verb}`).join(', ')}.`,
  ].join('\n');
}
