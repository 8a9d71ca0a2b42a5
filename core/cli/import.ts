/**
 * `tollgate import` writes a configuration from that of another gateway. A module of `plugins/imports` knows
 * what that says; it is found by its name, since core imports no plugin.
 */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { ConfigError } from '../util/errors.ts';
import { describeReason } from '../util/plugin-error.ts';
import { chooseFile, readTemplate, writeFile } from './init.ts';
import { redirectImports } from './self-resolution.ts';

type Convert = (
  text: string,
  template: string,
) => { text: string; variables: string[]; remarks: { line: number; setting: string; text: string }[] };

const moduleSchema = z.object({
  convert: z.custom<Convert>((value) => typeof value === 'function'),
});

/** Throws a `ConfigError` if the source cannot be read, or a configuration exists and `force` is not set. */
export async function importConfig(kind: string, source: string, force = false) {
  const file = chooseFile(force);
  redirectImports();
  try {
    const { convert } = moduleSchema.parse(await import(`tollgate/plugins/imports/${kind}`));
    const { text, ...facts } = convert(readFileSync(source, 'utf8'), readTemplate());
    writeFile(file, text, force);
    return { file, ...facts };
  } catch (error) {
    const reason = describeReason(error);
    const remedy = reason.includes("package 'yaml'")
      ? 'reading it needs a package: npm install yaml'
      : reason;
    throw new ConfigError(`${source}: ${remedy}`, { cause: error });
  }
}

export function formatImport({ file, variables, remarks }: Awaited<ReturnType<typeof importConfig>>): string {
  const lines = remarks.map(({ line, setting, text }) => `  line ${line}: ${setting}: ${text}`);
  const read = variables.length > 0 ? [`It reads ${variables.join(', ')}.`] : [];
  const head = lines.length > 0 ? ['These lines have no counterpart, or another one:'] : [];
  return [`Wrote ${file}; tollgate check validates it.`, ...read, ...head, ...lines].join('\n');
}
