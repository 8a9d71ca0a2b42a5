/**
 * `model_list`: the providers that it needs, with their keys by the names of variables, and the models behind
 * each name that clients send, with those that are asked if it fails.
 */
import { z } from 'zod';
import { readCatalogue } from '../../shared/provider/catalogue-file.ts';
import { number, text, type Path, type Source } from './source.ts';
import words from './words.json' with { type: 'json' };

interface Member {
  readonly id: string;
  readonly weight: number;
  /** Those of a higher order are asked when all of the lower ones fail. */
  readonly order: number;
}

export interface UsedProvider {
  /** Variables that hold its keys. */
  readonly keys: Set<string>;
  /** A symbol is code by its description, and every text a text. */
  readonly options: Record<string, unknown>;
  readonly models: Record<string, object>;
}

const vendors = new Map(Object.entries(words.vendors));
const servers = new Set(words.servers);
const openAi = 'https://api.openai.com';
/** Bedrock's names begin with where a call may run: `eu.anthropic.claude-…`. */
const place = /^(?:converse\/)?(?:(global|us|eu|au|jp|in)\.)?/;
const dated = /[-@](?:20\d{2}-\d{2}-\d{2}|20\d{6}|latest)$/;

function findVariable(value = ''): string | undefined {
  return /^os\.environ\/([A-Za-z_]\w*)$/.exec(value)?.[1];
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

/** A server of one's own becomes a provider named for its host: `at-gpu-1-internal`. */
function nameServer(address: string): readonly [name: string, key: string, unstated: string] {
  const [, host = 'server'] = /^(?:os\.environ\/|https?:\/\/)?([\w.-]+)/.exec(address) ?? [];
  const name = `at-${host.replaceAll(/[^a-zA-Z0-9]+/g, '-').toLowerCase()}`;
  return [name, `${toVariable(name)}_API_KEY`, ''];
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

/** Each model once, with the weights of its deployments together; 0 if it is only a fallback. */
function share(members: readonly Member[]) {
  const first = Math.min(...members.map(({ order }) => order));
  const weights = new Map<string, number>();
  for (const { id, weight, order } of members.toSorted((one, other) => one.order - other.order))
    weights.set(id, (weights.get(id) ?? 0) + (order === first ? weight : 0));
  const models = [...weights].map(([model, weight]) => ({ model, weight }));
  return models.length === 1 ? (models[0]?.model ?? '') : models;
}

/** Reads `model_list` row by row. */
export class Deployments {
  readonly providers = new Map<string, UsedProvider>();
  readonly limits: object[] = [];
  /** By the name that clients send. */
  readonly #groups = new Map<string, Member[]>();
  readonly #source: Source;

  constructor(source: Source) {
    this.#source = source;
    for (const row of source.list(['model_list'])) this.#addRow(row);
  }

  #readText(row: Path, name: string): string | undefined {
    return this.#source.read([...row, 'litellm_params', name], text);
  }

  #readNumber(row: Path, name: string): number | undefined {
    const read = (part: string) => this.#source.read([...row, part, name], number);
    return read('litellm_params') ?? read('model_info');
  }

  #note(row: Path, name: string, said: string): void {
    this.#source.note([...row, 'litellm_params', name], said);
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
  #openProvider(row: Path, name: string): UsedProvider | undefined {
    const provider = this.providers.get(name) ?? { keys: new Set(), options: {}, models: {} };
    this.providers.set(name, provider);
    for (const [theirs, option] of Object.entries(words.options)) {
      const stated = this.#readText(row, theirs);
      const variable = findVariable(stated);
      // Ollama's own API is at the root, and chat completions are below `/v1`.
      const address = name === 'ollama' ? stated?.replace(/^(http.*?)(\/v1)?\/?$/, '$1/v1') : stated;
      const value = variable === undefined ? address : Symbol.for(`process.env.${variable}`);
      if (value === undefined || (provider.options[option] ??= value) === value) continue;
      const said = `${name} has one ${option} here, of an earlier deployment: this one is left out`;
      this.#note(row, theirs, said);
      this.#source.read(row, z.unknown());
      return undefined;
    }
    return provider;
  }

  #addKey({ keys }: UsedProvider, row: Path, usual: string, unstated: string): void {
    const stated = this.#readText(row, 'api_key');
    const named = stated === undefined ? unstated : findVariable(stated);
    const variable = named ?? (keys.size === 0 ? usual : `${usual}_${keys.size + 1}`);
    const said = `holds a key: put it into .env as ${variable}, which the configuration reads`;
    if (named === undefined) this.#note(row, 'api_key', said);
    if (variable !== '') keys.add(variable);
  }

  /** Returns the id of the row's model, or undefined, with a remark, if it cannot be served. */
  #addModel(row: Path, vendor: readonly string[], upstream: string, isServer: boolean): string | undefined {
    const [name = '', usual = '', unstated = usual] = vendor;
    const provider = this.#openProvider(row, name);
    if (!provider) return undefined;
    const { options } = provider;
    if (usual !== '') this.#addKey(provider, row, usual, unstated);
    const base = isServer ? undefined : this.#source.read([...row, 'model_info', 'base_model'], text);
    const known = isServer ? undefined : findId(name, base === undefined ? upstream : splitModel(base)[1]);
    if (name === 'amazon-bedrock') options.profile ??= place.exec(upstream)?.[1] ?? 'region';
    if (name === 'azure' && known !== undefined)
      options.deployments = { ...Object(options.deployments), [known.replace(/^.*?\//, '')]: upstream };
    if (name === 'ollama') options.baseUrl ??= 'http://127.0.0.1:11434/v1';
    if (name === 'ollama') options.free = true;
    // A pattern of names has no facts of its own.
    const facts = upstream.includes('*') ? {} : this.#readFacts(row);
    const isFree = isServer && !('price' in facts);
    if (isFree) this.#source.note(row, 'calls cost nothing here, since the row states no price');
    else if (known === undefined && !('price' in facts)) {
      const remedy = 'add it with its price by the option "models"';
      this.#note(row, 'model', `the catalogue of ${name} has no "${upstream}": ${remedy}`);
      return undefined;
    }
    const id = known ?? `${name}/${upstream}`;
    const added = known === undefined ? { upstream, contextLength: 32_768 } : {};
    const model = { ...added, ...facts, ...(isFree && { free: true }) };
    if (Object.keys(model).length > 0) provider.models[id] = model;
    return id;
  }

  #addRow(row: Path): void {
    const name = this.#source.read([...row, 'model_name'], text);
    const model = this.#readText(row, 'model');
    if (name === undefined || model === undefined) return;
    const [prefix, upstream] = splitModel(model, this.#readText(row, 'custom_llm_provider'));
    const address = this.#readText(row, 'api_base') ?? openAi;
    const isServer = servers.has(prefix) && !address.startsWith(openAi);
    const vendor = isServer ? nameServer(address) : vendors.get(prefix);
    if (!vendor)
      return this.#note(row, 'model', `there is no provider "${prefix}" (plugins/README.md: define one)`);
    const id = this.#addModel(row, vendor, upstream, isServer);
    if (id === undefined) return;
    const [weight = 1, order = 1] = ['weight', 'order'].map((each) => this.#readNumber(row, each));
    this.#groups.set(name, [...(this.#groups.get(name) ?? []), { id, weight, order }]);
    const [requests, tokens] = ['rpm', 'tpm'].map((each) => this.#readNumber(row, each));
    const limits = { ...(requests && { requests }), ...(tokens && { tokens }) };
    if (requests ?? tokens) this.limits.push({ per: 'gateway', models: [id], ...limits });
  }

  /** Returns what is asked if a name fails: `[{ 'gpt-5.4': ['claude'] }]`, and then what is for all names. */
  #readFallbacks(): (name: string) => readonly Member[] {
    const parts = ['router_settings', 'litellm_settings'];
    const readNames = (path: Path) => this.#source.read(path, z.array(z.string())) ?? [];
    const stated = parts
      .flatMap((part) => [`${part}.fallbacks`, `${part}.context_window_fallbacks`])
      .flatMap((lists) => this.#source.list(lists.split('.')).flatMap((each) => this.#source.list(each)))
      .filter((path) => this.#groups.has(path.at(-1) ?? ''))
      .map((path) => ({ from: path.at(-1), to: readNames(path) }));
    const all = parts.flatMap((part) => readNames([part, 'default_fallbacks']));
    const order = Number.MAX_SAFE_INTEGER;
    return (name) =>
      [...stated.flatMap(({ from, to }) => (from === name ? to : [])), ...all]
        .flatMap((other) => this.#groups.get(other) ?? [])
        .map(({ id }) => ({ id, weight: 0, order }));
  }

  /** The option of `aliases()`: the models behind the names that clients send. */
  readNames(): [name: string, models: ReturnType<typeof share>][] {
    for (const path of this.#source.list(['router_settings', 'model_group_alias'])) {
      const meant = this.#source.read(path, text) ?? this.#source.read([...path, 'model'], text);
      this.#groups.set(path.at(-1) ?? '', this.#groups.get(meant ?? '') ?? []);
    }
    const listFallbacks = this.#readFallbacks();
    const ids = new Set([...this.#groups.values()].flat().map(({ id }) => id));
    return [...this.#groups].flatMap(([name, members]) => {
      const models = share([...members, ...listFallbacks(name)]);
      if (models === name || members.length === 0) return [];
      if (!ids.has(name)) return [[name, models]];
      const said = `"${name}" is an id, so its fallbacks and weights do not apply: rename it`;
      this.#source.note(['model_list'], said);
      return [];
    });
  }
}
