/**
 * `model_list`: the providers that it needs, with their keys by the names of variables, and the models behind
 * each name that clients send.
 */
import { z } from 'zod';
import { readCatalogue } from '../../shared/provider/catalogue-file.ts';
import type { Path, Source } from './source.ts';
import words from './words.json' with { type: 'json' };

export interface Member {
  readonly id: string;
  readonly weight: number;
  /** Those of a higher order are asked when all of the lower ones fail. */
  readonly order: number;
}

export interface UsedProvider {
  readonly isBundled: boolean;
  /** Variables that hold its keys. */
  readonly keys: Set<string>;
  readonly options: Record<string, unknown>;
  readonly models: Record<string, object>;
}

const vendors = new Map(Object.entries(words.vendors));
const servers = new Set(words.servers);
/** Bedrock's names begin with where a call may run: `eu.anthropic.claude-…`. */
const place = /^(?:converse\/)?(?:(global|us|eu|au|jp|in)\.)?/;
const dated = /[-@](?:20\d{2}-\d{2}-\d{2}|20\d{6}|latest)$/;

function findVariable(text: string): string | undefined {
  return /^os\.environ\/([A-Za-z_]\w*)$/.exec(text)?.[1];
}

export function toVariable(name: string): string {
  return name.replaceAll('-', '_').toUpperCase();
}

/** The vendor of `azure/our-deployment`, and the rest of the name. LiteLLM guesses it for bare names. */
function splitModel(model: string, stated?: string): readonly [vendor: string, name: string] {
  const [, prefix = '', rest = ''] = /^([\w-]+)\/(.+)$/.exec(model) ?? [];
  if (prefix !== '' && (!stated || vendors.has(prefix))) return [stated ?? prefix, rest];
  return [stated ?? (model.startsWith('claude') ? 'anthropic' : 'openai'), model];
}

/** The id of a model. Undefined if the catalogue lacks it; some providers are asked for their models. */
function findId(provider: string, name: string): string | undefined {
  const asks = provider === 'openrouter' || provider === 'ollama';
  if (asks || name.includes('*')) return name.includes('/') ? name : `${provider}/${name}`;
  const models = readCatalogue(new URL(`../../providers/catalogue/${provider}.json`, import.meta.url));
  const isNamed = (known: string, wanted: string) => `/${known.replace(place, '')}`.endsWith(`/${wanted}`);
  const find = (wanted: string) =>
    models.find(({ id, upstream, canonicalSlug = id, aliases }) =>
      [upstream, id, canonicalSlug, ...aliases].some((known) => isNamed(known, wanted)),
    );
  const plain = name.replace(place, '');
  return (find(plain) ?? find(plain.replace(dated, '')))?.id;
}

/** Reads `model_list` row by row. */
export class Deployments {
  readonly providers = new Map<string, UsedProvider>();
  /** By the name that clients send. */
  readonly groups = new Map<string, Member[]>();
  readonly limits: object[] = [];
  readonly #source: Source;

  constructor(source: Source) {
    this.#source = source;
    for (const row of source.list(['model_list'])) this.#addRow(row);
  }

  #readNumber(row: Path, name: string): number | undefined {
    const read = (part: string) => this.#source.readNumber([...row, part, name]);
    return read('litellm_params') ?? read('model_info');
  }

  /** The facts that a row states, by their names here. */
  #readFacts(row: Path) {
    const price = Object.entries(words.rates).flatMap(([name, unit]) => {
      const rate = this.#readNumber(row, name);
      return rate === undefined ? [] : [{ unit, rate: String(Number((rate * 1e6).toPrecision(12))) }];
    });
    const contextLength = this.#readNumber(row, 'max_input_tokens');
    return { ...(contextLength && { contextLength }), ...(price.length > 0 && { price }) };
  }

  /** A provider has its options once. Undefined, with a remark, for a deployment that has others. */
  #openProvider(row: Path, name: string, isBundled: boolean): UsedProvider | undefined {
    const provider = this.providers.get(name) ?? { isBundled, keys: new Set(), options: {}, models: {} };
    this.providers.set(name, provider);
    for (const [theirs, option] of Object.entries(words.options)) {
      const path = [...row, 'litellm_params', theirs];
      const text = this.#source.readText(path);
      const variable = findVariable(text ?? '');
      const value = variable === undefined ? text : `$$process.env.${variable}`;
      if (value === undefined || (provider.options[option] ??= value) === value) continue;
      this.#source.note(
        path,
        `${name} has one ${option} here, of an earlier deployment: this one is left out`,
      );
      this.#source.read(row, z.unknown());
      return undefined;
    }
    return provider;
  }

  #addKey({ keys }: UsedProvider, row: Path, usual: string, unstated?: string): void {
    const path = [...row, 'litellm_params', 'api_key'];
    const text = this.#source.readText(path);
    const numbered = keys.size === 0 ? usual : `${usual}_${keys.size + 1}`;
    const variable = text === undefined ? unstated : (findVariable(text) ?? numbered);
    if (text !== undefined && findVariable(text) === undefined)
      this.#source.note(path, `holds a key: put it into .env as ${variable}, which the configuration reads`);
    if (variable !== undefined) keys.add(variable);
  }

  /** A server of one's own becomes a provider named for its host. */
  #addServer(row: Path, address: string, upstream: string): string | undefined {
    const [, host = 'server'] = /^(?:os\.environ\/|https?:\/\/)?([\w.-]+)/.exec(address) ?? [];
    const name = `at-${host.replaceAll(/[^a-zA-Z0-9]+/g, '-').toLowerCase()}`;
    const provider = this.#openProvider(row, name, false);
    if (!provider) return undefined;
    this.#addKey(provider, row, `${toVariable(name)}_API_KEY`);
    const facts = this.#readFacts(row);
    const free = 'price' in facts ? {} : { free: true };
    if (!('price' in facts)) this.#source.note(row, 'calls cost nothing here, since the row states no price');
    provider.models[`${name}/${upstream}`] = { upstream, contextLength: 32_768, ...facts, ...free };
    return `${name}/${upstream}`;
  }

  #addVendor(row: Path, [name = '', usual = '', unstated = usual]: readonly string[], upstream: string) {
    const provider = this.#openProvider(row, name, true);
    if (!provider) return undefined;
    const { options } = provider;
    if (usual !== '') this.#addKey(provider, row, usual, unstated);
    const base = this.#source.readText([...row, 'model_info', 'base_model']);
    const id = findId(name, base === undefined ? upstream : splitModel(base)[1]);
    if (name === 'amazon-bedrock') options.profile ??= place.exec(upstream)?.[1] ?? 'region';
    if (name === 'azure' && id !== undefined)
      options.deployments = { ...Object(options.deployments), [id.slice(id.indexOf('/') + 1)]: upstream };
    if (name === 'ollama') {
      const address = String(options.baseUrl ?? 'http://127.0.0.1:11434');
      Object.assign(options, { baseUrl: address.replace(/^(http.*?)(\/v1)?\/?$/, '$1/v1'), free: true });
    }
    const facts = this.#readFacts(row);
    if (id === undefined && !('price' in facts))
      this.#source.note(
        [...row, 'litellm_params', 'model'],
        `the catalogue of ${name} has no "${upstream}": add it with its price by the option "models"`,
      );
    if (!('price' in facts)) return id;
    const added = id === undefined ? { upstream, contextLength: 32_768 } : {};
    provider.models[id ?? `${name}/${upstream}`] = { ...added, ...facts };
    return id ?? `${name}/${upstream}`;
  }

  #addRow(row: Path): void {
    const params = [...row, 'litellm_params'];
    const name = this.#source.readText([...row, 'model_name']);
    const model = this.#source.readText([...params, 'model']);
    if (name === undefined || model === undefined) return;
    const [prefix, upstream] = splitModel(model, this.#source.readText([...params, 'custom_llm_provider']));
    const address = this.#source.readText([...params, 'api_base']) ?? 'https://api.openai.com';
    const isServer = servers.has(prefix) && !address.startsWith('https://api.openai.com');
    const vendor = vendors.get(prefix);
    const id = isServer
      ? this.#addServer(row, address, upstream)
      : vendor && this.#addVendor(row, vendor, upstream);
    if (!vendor && !isServer)
      this.#source.note(
        [...params, 'model'],
        `there is no provider "${prefix}" (plugins/README.md: define one)`,
      );
    if (id === undefined) return;
    const [weight = 1, order = 1] = ['weight', 'order'].map((each) => this.#readNumber(row, each));
    this.groups.set(name, [...(this.groups.get(name) ?? []), { id, weight, order }]);
    const [requests, tokens] = ['rpm', 'tpm'].map((each) => this.#readNumber(row, each));
    const limits = { ...(requests && { requests }), ...(tokens && { tokens }) };
    if (requests ?? tokens) this.limits.push({ per: 'gateway', models: [id], ...limits });
  }
}
