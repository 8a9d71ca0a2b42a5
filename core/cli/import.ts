/**
 * `tollgate import` writes a configuration from that of another gateway. A module of `plugins/imports` knows
 * what that says; it is found by its name, since core imports no plugin.
 */
import { readFileSync } from 'node:fs';
import { ConfigError } from '../util/errors.ts';
import { describeReason } from '../util/plugin-error.ts';
import { chooseFile, readTemplate, writeFile } from './init.ts';
import { redirectImports } from './self-resolution.ts';

interface Importer {
  /** `variables` are those that the result reads. */
  convert(
    text: string,
    template: string,
  ): { text: string; variables: string[]; remarks: { line: number; setting: string; text: string }[] };
}

/** Throws a `ConfigError` if the source cannot be read, or a configuration exists and `force` is not set. */
export async function importConfig(kind: string, source: string, force = false) {
  const file = chooseFile(force);
  redirectImports();
  try {
    const importer: Importer = await import(`tollgate/plugins/imports/${kind}`);
    const { text, ...facts } = importer.convert(readFileSync(source, 'utf8'), readTemplate());
    writeFile(file, text, force);
    return { file, ...facts };
  } catch (error) {
    const said = describeReason(error);
    const reason = said.includes("package 'yaml'") ? 'reading it needs a package: npm install yaml' : said;
    throw new ConfigError(`${source}: ${reason}`, { cause: error });
  }
}

export function formatImport({ file, variables, remarks }: Awaited<ReturnType<typeof importConfig>>): string {
  const lines = remarks.map(({ line, setting, text }) => `  line ${line}: ${setting}: ${text}`);
  if (lines.length > 0) lines.unshift('These lines have no counterpart, or another one:');
  if (variables.length > 0) lines.unshift(`It reads ${variables.join(', ')}.`);
  return [`Wrote ${file}; tollgate check validates it.`, ...lines].join('\n');
}
