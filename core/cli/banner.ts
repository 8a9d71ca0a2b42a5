/**
 * The output of a start, which fits one screen: providers, what is off and why, an example the first time,
 * and last, where it is still visible, the base URLs and the first key.
 */
import { existsSync, readdirSync } from 'node:fs';
import type { Config } from '../config.ts';
import type { Gateway } from '../gateway.ts';
import type { Model } from '../model-facts.ts';
import { getRate } from '../price-terms.ts';
import { freePrice } from '../price.ts';
import { ConfigError } from '../util/errors.ts';
import { describeReason } from '../util/plugin-error.ts';
import { toOneLine } from '../util/text.ts';
import { nameOption } from './load-config.ts';

const width = 110;

/** Folds a text to the width of a terminal; all lines but the first are indented. */
function foldText(text: string): string[] {
  const lines: string[] = [];
  for (const word of toOneLine(text).split(' ')) {
    const line = lines.at(-1);
    if (line === undefined) lines.push(word);
    else if (line.length + word.length < width) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(`  ${word}`);
  }
  return lines;
}

function formatAddresses({ addresses }: Gateway, url: string): string[] {
  const bases = Map.groupBy(addresses, ({ path, client }) => `${path} ${client}`);
  const rows = [...bases.values()].map((base) => ({
    client: base[0]?.client ?? '',
    address: url + (base[0]?.path ?? ''),
    protocols: base.map(({ protocol }) => protocol).join(', '),
  }));
  const clientWidth = Math.max(0, ...rows.map(({ client }) => client.length));
  const addressWidth = Math.max(0, ...rows.map(({ address }) => address.length));
  return rows.map(
    ({ client, address, protocols }) =>
      `  ${client.padEnd(clientWidth)}  ${address.padEnd(addressWidth)}  ${protocols}`,
  );
}

/** Providers that are off, of which the banner says what switches them on. */
const mostExplained = 3;

function formatProviders({ providers, off }: Gateway): string[] {
  const on = [...providers.list()].map(({ name }) => name).join(', ');
  const missing = [...off].slice(0, mostExplained).map(([name, remedy]) => `${name} (${remedy})`);
  const more = off.size - missing.length;
  const rest = more > 0 ? `, and ${more} more: \`tollgate check\` lists them` : '';
  return [
    ...foldText(`Providers: ${on || 'none'}.`),
    ...(off.size > 0 ? foldText(`Off: ${missing.join(', ')}${rest}.`) : []),
  ];
}

/** A figure to compare models' prices: output dominates a call's cost. */
function computeTrialCost({ price = freePrice }: Model): number {
  return Number(getRate(price, 'image') ?? getRate(price, 'output') ?? 0);
}

/** The first example that a model can answer, on several lines; READMEs have those of other protocols. */
function formatExample({ examples, catalog }: Gateway, url: string): string[] {
  const models = catalog
    .listModels()
    .toSorted((one, other) => computeTrialCost(one) - computeTrialCost(other));
  for (const { line, output } of examples) {
    const model = models.find((each) => each.output[0] === output);
    if (!model && line.includes('{model}')) continue;
    const example = line.replaceAll('{url}', url).replaceAll('{model}', model?.id ?? '');
    return example.replaceAll(/ (?=-[Hd] )/g, ' \\\n  ').split('\n');
  }
  return [];
}

export function formatBanner(
  gateway: Gateway,
  url: string,
  { first, milliseconds }: { readonly first: boolean; readonly milliseconds: number },
): string {
  const examples = first ? formatExample(gateway, url) : [];
  const ready = `Tollgate is ready at ${url} (${milliseconds.toFixed(0)} ms)`;
  const shortcomings = gateway.describe().lacks.flatMap(foldText);
  return [
    ...formatProviders(gateway),
    ...shortcomings,
    ...examples,
    ready,
    ...formatAddresses(gateway, url),
    ...gateway.notes,
  ].join('\n');
}

/**
 * Whether this is the first start with this data folder. Call it before the gateway opens the folder. Throws
 * a `ConfigError` if the folder cannot be read.
 */
export function isFirstStart({ file, dataFolder }: Config): boolean {
  try {
    return !existsSync(dataFolder) || readdirSync(dataFolder).length === 0;
  } catch (error) {
    throw new ConfigError(
      `${file}: the data folder cannot be used: ${describeReason(error)}; ` +
        `set ${nameOption(file, 'dataFolder')} to another, or give it to the user who runs the gateway`,
      { cause: error },
    );
  }
}
