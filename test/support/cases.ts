/**
 * Tables of cases that are data, in JSON files: bodies, models, and what vendors say. An object with nothing
 * but `$pattern` stands for a regular expression.
 */
import { readFileSync } from 'node:fs';

function revive(_: string, value: unknown): unknown {
  return typeof value === 'object' && value !== null && '$pattern' in value
    ? new RegExp(String(value.$pattern))
    : value;
}

/** Reads a file beside a module, which states what it holds. */
export function readCases<Cases>(file: string, module: string): Cases {
  return JSON.parse(readFileSync(new URL(file, module), 'utf8'), revive);
}
