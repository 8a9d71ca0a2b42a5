/**
 * The release whose files are on disk. An update replaces them under a running gateway. A thread that starts
 * then does not share the messages of the older release, and would write wrong entries.
 */
import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';

export function readRelease(): string {
  const { version }: { readonly version?: unknown } = JSON.parse(
    readFileSync(findPackageJSON(import.meta.url) ?? '', 'utf8'),
  );
  return String(version);
}
