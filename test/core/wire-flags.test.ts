import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { Catalog } from '../../core/catalog.ts';
import { checkModel, createFlagReader, type Provider } from '../../core/index.ts';
import { type Model } from '../../core/model-facts.ts';
import { readCatalogue } from '../../plugins/shared/provider/catalogue-file.ts';
import { makeFolder } from '../support/folder.ts';
import { buildModelFacts } from '../support/test-provider.ts';

const folder = makeFolder();

const schema = z.strictObject({
  short: z.boolean().default(false),
  ids: z.enum(['any', 'nine']).default('any'),
});
const protocols = new Map<string, z.ZodType>([['telegram', schema]]);
const provider: Provider = {
  name: 'house',
  endpoints: { telegram: () => 'http://127.0.0.1/', letter: () => 'http://127.0.0.1/' },
  sign: (request) => request,
};
let written = 0;

/** Reads a catalogue file of one model. `defaults` and `own` are flags by protocol. */
function readFile(defaults: object, own?: object): { readonly path: string; readonly models: Model[] } {
  written += 1;
  const path = join(folder, `${written}.json`);
  const model = { ...buildModelFacts({ id: 'house/one' }), capabilities: own ? { wire: own } : {} };
  writeFileSync(
    path,
    JSON.stringify({
      vendor: 'house',
      asOf: '2026-01-01',
      source: 'this test',
      defaults: { capabilities: { wire: defaults } },
      models: [model],
    }),
  );
  return { path, models: readCatalogue(pathToFileURL(path)) };
}

/** What the catalogue says about flags once the protocols are known. */
function offerAndCheck(models: readonly Model[]): void {
  const catalog = new Catalog();
  catalog.offer(provider, models);
  catalog.checkFlags(protocols);
}

it("a protocol's flags are read with the schema of the protocol, which gives the defaults", () => {
  const read = createFlagReader('telegram', schema);
  const [model] = readFile({}, { telegram: { short: true } }).models;
  expect(model && read(model.capabilities)).toEqual({ short: true, ids: 'any' });
  expect(read(checkModel(buildModelFacts()).capabilities)).toEqual({ short: false, ids: 'any' });
});

it("a protocol's flags replace the file's defaults one by one", () => {
  const { models } = readFile(
    { telegram: { short: true, ids: 'nine' }, letter: {} },
    { telegram: { ids: 'any' } },
  );
  expect(models[0]?.capabilities.wire).toEqual({ telegram: { short: true, ids: 'any' }, letter: {} });
});

it.each([
  ['an unknown flag', { telegram: { shrt: true } }, '["telegram"]: Unrecognized key: "shrt"'],
  [
    'a wrong value',
    { telegram: { short: 1 } },
    '["telegram"]: short: Invalid input: expected boolean, received number',
  ],
  [
    'a protocol that does not exist',
    { telegraph: { short: true } },
    '["telegraph"]: there is no such protocol',
  ],
])("a protocol's flags are refused with the file and the model if one has %s", (_, flags, fault) => {
  const { path, models } = readFile(flags);
  expect(() => offerAndCheck(models)).toThrow(`${path}: model "house/one": capabilities.wire${fault}`);
});

it("a protocol's flags are not checked if the gateway has not installed the protocol", () => {
  expect(() => offerAndCheck(readFile({ letter: { stamp: 1 } }).models)).not.toThrow();
});

it("a protocol's flags are checked of later models too, and the error names the provider", () => {
  const catalog = new Catalog();
  catalog.checkFlags(protocols);
  const model = checkModel(buildModelFacts({ capabilities: { wire: { telegram: { shrt: true } } } }));
  expect(() => catalog.offer(provider, [model])).toThrow(/^provider "house": model .*"shrt"/);
});
