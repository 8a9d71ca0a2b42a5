/** The version in this copy's package.json. An update may replace the file while the gateway runs. */
import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';

export function readOwnVersion(): string {
  const { version }: { readonly version?: unknown } = JSON.parse(
    readFileSync(findPackageJSON(import.meta.url) ?? '', 'utf8'),
  );
  return String(version);
}
