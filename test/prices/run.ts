/**
 * `npm run prices:check`: what LiteLLM's newest package and the vendors whose keys are in the environment
 * state differently from the catalogue, and which of its facts are unconfirmed. With the path of a price file
 * nothing is downloaded.
 */
import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { readLiteLlm } from '../../plugins/operations/catalogue/litellm.ts';
import { readCatalogue } from '../../plugins/shared/provider/catalogue-file.ts';
import { compareVendor, formatFindings, selectRows } from './compare.ts';
import { downloadPriceFile, fetchListings } from './sources.ts';

const [path] = process.argv.slice(2);
const today = new Date().toISOString().slice(0, 10);
const { version, content } =
  path === undefined
    ? await downloadPriceFile()
    : { version: path, content: JSON.parse(await readFile(path, 'utf8')) };
const facts = readLiteLlm(selectRows(content, today));
const files = globSync(join(import.meta.dirname, '../../plugins/providers/catalogue/*.json')).toSorted();
const vendors = files.map((file) => basename(file, '.json'));
const listings = await fetchListings(vendors, (vendor, error) =>
  process.stderr.write(`the models of ${vendor} could not be read: ${String(error)}\n`),
);
const findings = files.flatMap((file) => {
  const vendor = basename(file, '.json');
  const others = { facts: facts.get(vendor), listing: listings.get(vendor) };
  return compareVendor(vendor, readCatalogue(pathToFileURL(file)), others, today);
});
process.stdout.write(formatFindings(findings));
process.stdout.write(
  `${findings.length} findings; LiteLLM ${version}; ` +
    `lists of ${[...listings.keys()].join(', ') || 'no vendor: no key is set'}\n`,
);
