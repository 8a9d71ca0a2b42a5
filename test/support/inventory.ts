/** Every bundled plugin, found by reading the folders, so that a new one is included. */
import { globSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { z } from 'zod';
import type { PluginFactory } from '../../core/index.ts';

export interface Bundled {
  readonly name: string;
  /** Its path, without the extension: `plugins/auth/bearer`. */
  readonly path: string;
  readonly factory: PluginFactory<z.ZodType>;
}

const root = join(import.meta.dirname, '../..');

function isFactory(value: unknown): value is PluginFactory<z.ZodType> {
  return typeof value === 'function' && 'options' in value;
}

export async function listBundledPlugins(): Promise<Bundled[]> {
  const files = globSync(
    [
      'plugins/{auth,channels,meters,operations,providers,routing}/*.ts',
      'plugins/{meters,operations,protocols,providers}/*/index.ts',
      'plugins/protocols/*/web-sockets.ts',
    ],
    { cwd: root },
  );
  const found: Bundled[] = [];
  for (const file of files.toSorted()) {
    const module: object = await import(join(root, file));
    const path = basename(file) === 'index.ts' ? dirname(file) : file.slice(0, -'.ts'.length);
    for (const factory of Object.values(module))
      if (isFactory(factory)) found.push({ name: basename(path), path, factory });
  }
  return found;
}
