/** The pages of `examples/how-to`, with the code blocks that a test runs. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const pagesFolder = join(import.meta.dirname, '../../examples/how-to');

export const pages = globSync('*.md', { cwd: pagesFolder }).toSorted();

export function readPage(name: string): string {
  return readFileSync(join(pagesFolder, name), 'utf8');
}

export interface Block {
  /** `sh` runs, `text` is what the block before it prints, and one with a file is written first. */
  readonly language: string;
  readonly file: string | undefined;
  readonly text: string;
}

/** The code blocks of a page, without the spaces that a list puts before them. */
export function listBlocks(page: string): Block[] {
  const fences = page.matchAll(/^( *)```(\w+)(?: (\S+))?\n([^]*?)^\1```$/gm);
  return Array.from(fences, ([, indent = '', language = '', file, text = '']) => ({
    language,
    file,
    text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  }));
}
