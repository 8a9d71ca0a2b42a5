/**
 * The verbs about models: `models` lists them, and `prices diff` compares a new snapshot of facts with the
 * catalogue. The difference is never applied: prices are money, so a person reads it and edits the file.
 */
import { readdirSync } from 'node:fs';
import { z } from 'zod';
import {
  definePlugin,
  formatUsd,
  readCatalogue,
  type Catalog,
  type CommandResult,
  type Model,
} from '../../core/index.ts';
import { differences, lineOf } from './catalogue/difference.ts';
import { modelsRoute } from './catalogue/models-route.ts';
import { figuresOf, readSnapshot, type Facts } from './catalogue/snapshot.ts';

const folder = new URL('../providers/catalogue/', import.meta.url);

function describe(catalog: Catalog, model: Model): object {
  const { id, name, contextLength, outputLimit, input, output, expires, successor, aliases, price } = model;
  const providers = [...new Set(catalog.find(id).map(({ provider }) => provider.name))];
  const { tiers: _tiers, ...rates } = price ?? { tiers: [] };
  const prices = Object.fromEntries(
    Object.entries(rates).flatMap(([kind, rate]) =>
      typeof rate === 'bigint' ? [[kind, formatUsd(rate)]] : [],
    ),
  );
  return {
    id,
    name,
    providers,
    prices,
    free: model.free ?? false,
    contextLength,
    outputLimit,
    input,
    output,
    expires,
    ...(successor ? { successor } : {}),
    aliases,
  };
}

function lineFor(catalog: Catalog, { id, price, contextLength, expires }: Model, width: number): string {
  const providers = [...new Set(catalog.find(id).map(({ provider }) => provider.name))];
  const cost = price ? `${formatUsd(price.input)} in, ${formatUsd(price.output)} out` : 'free';
  return [
    id.padEnd(width),
    cost.padEnd(24),
    `${contextLength} tokens`.padEnd(16),
    providers.join(', '),
    ...(expires ? [`until ${expires}`] : []),
  ].join('  ');
}

function listModels(catalog: Catalog, owner: string | undefined): CommandResult {
  const owned = catalog.models().filter(({ id }) => owner === undefined || id.startsWith(`${owner}/`));
  const models = owned.toSorted((first, second) => (first.id < second.id ? -1 : 1));
  const width = Math.max(0, ...models.map(({ id }) => id.length));
  const none =
    owner === undefined || catalog.models().length === 0
      ? "No models: set a provider's key."
      : `No models of "${owner}".`;
  const text = models.map((model) => lineFor(catalog, model, width)).join('\n') || none;
  return { json: models.map((model) => describe(catalog, model)), text };
}

/**
 * The catalogue's facts about a vendor's models: from its file, even if the provider is off, or else from
 * what a provider of that name offers.
 */
function ownFacts(catalog: Catalog, vendor: string): Facts | undefined {
  const hasFile = readdirSync(folder).includes(`${vendor}.json`);
  const offered = (): Model[] =>
    catalog.models().filter(({ id }) => catalog.find(id).some(({ provider }) => provider.name === vendor));
  const models = hasFile ? readCatalogue(new URL(`${vendor}.json`, folder)) : offered();
  return models.length > 0 ? new Map(models.map((model) => [model.upstream, figuresOf(model)])) : undefined;
}

function comparePrices(catalog: Catalog, file: string, vendor: string | undefined): CommandResult {
  const { complete, vendors } = readSnapshot(file, vendor);
  const snapshot = [...vendors].filter(([name]) => vendor === undefined || name === vendor);
  const compared: string[] = [];
  const found = snapshot.flatMap(([name, theirs]) => {
    const ours = ownFacts(catalog, name);
    if (!ours) return [];
    compared.push(name);
    return differences(name, ours, theirs, complete);
  });
  if (compared.length === 0) {
    const vendors = snapshot.map(([name]) => `"${name}"`).join(', ');
    throw new Error(`the catalogue has no models of ${vendors}; name the vendor with --vendor`);
  }
  const summary = `${found.length} differences in ${compared.join(', ')}. Nothing was applied: prices are changed in plugins/providers/catalogue.`;
  return { json: { compared, differences: found }, text: [...found.map(lineOf), summary].join('\n') };
}

export const catalogue = definePlugin({
  name: 'catalogue',
  options: z.strictObject({}),
  apply({ catalog, commands, routes }) {
    routes.add(modelsRoute(catalog));
    commands.add({
      name: 'models [owner]',
      description:
        'list the models on offer, all or of one owner: USD for a million tokens, context, providers',
      async run([owner]) {
        await catalog.lookAtListings();
        return listModels(catalog, owner);
      },
    });
    commands.add({
      name: 'prices diff <snapshot>',
      description:
        'compare a file of new facts (our own form, or models.dev) with the catalogue; applies nothing',
      options: [
        { flags: '--vendor <name>', description: 'the vendor of the facts, if the file does not name it' },
      ],
      async run([file = ''], { vendor }) {
        await catalog.lookAtListings();
        return comparePrices(catalog, file, typeof vendor === 'string' ? vendor : undefined);
      },
    });
  },
});
