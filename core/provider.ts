/**
 * A provider is data: where each protocol is spoken, which models there are, and how a finished request is
 * signed. `defineProvider` makes a plugin of that data; switched off until its key (or address) is set.
 */
import { z } from 'zod';
import { checkModel, readCatalogue, type Model } from './catalog.ts';
import { definePlugin, type PluginFactory } from './plugin.ts';
import { formatUsd, priceSchema } from './money.ts';
import type { Target } from './exchange.ts';
import type { Operation } from './protocol.ts';

/** A request as the vendor will see it: nothing of the client's but what was put here on purpose. */
export interface UpstreamRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

/** A vendor's reply: its head, and its body as it arrives. Ending the iteration early lets go of the connection. */
export interface UpstreamResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: AsyncIterable<Uint8Array>;
}

export type Endpoint = string | ((target: Target, operation: Operation, stream: boolean) => string);

export interface Provider {
  readonly name: string;
  /** Where the provider speaks a protocol, by the protocol's name: an absolute URL, or how to make one. */
  readonly endpoints: Readonly<Record<string, Endpoint>>;
  /** Passed the finished request; the answer is the same request with the vendor's credential on it. */
  sign(request: UpstreamRequest): UpstreamRequest | Promise<UpstreamRequest>;
}

export interface ProviderSpec {
  readonly name: string;
  /** The environment variables that switch the provider on and move its address. */
  readonly env: { readonly key: string; readonly baseUrl: string };
  /** The vendor's own address; without one the provider is off until its address is set. */
  readonly baseUrl?: string;
  /** Paths below the address, by protocol name; a function where the path depends on the call. */
  readonly endpoints: Readonly<Record<string, Endpoint>>;
  /** A catalogue file, or the path below the address where the vendor lists its models. */
  readonly models: URL | { readonly discover: string };
  /** How the key is shown to the vendor; `Authorization: Bearer` unless said otherwise. */
  readonly credential?: (key: string) => Readonly<Record<string, string>>;
}

const optionsSchema = z.strictObject({
  /** The vendor's key; its usual environment variable unless given. */
  apiKey: z.string().min(1).optional(),
  /** The vendor's address, with its version segment; its usual environment variable, or the vendor's own, unless given. */
  baseUrl: z.url({ protocol: /^https?$/ }).optional(),
  /** Of discovered models: that they cost nothing. */
  free: z.literal(true).optional(),
  /** Of discovered models: what each costs, in USD per million tokens. */
  price: priceSchema.optional(),
  /** Seconds between two looks at the vendor's list of models. */
  discoverEvery: z.int().positive().default(60),
});

export type ProviderOptions = z.output<typeof optionsSchema>;

function below(base: string, path: Endpoint): Endpoint {
  return typeof path === 'string' ? base + path : (...call) => base + path(...call);
}

function bearer(key: string): Record<string, string> {
  return { authorization: `Bearer ${key}` };
}

/** Makes a provider plugin of its data. The plugin registers nothing while it has neither key nor, for a local one, address. */
export function defineProvider(spec: ProviderSpec): PluginFactory<typeof optionsSchema> {
  return definePlugin({
    name: spec.name,
    options: optionsSchema,
    apply(host, options) {
      // A variable that is set to nothing, as compose files do, is one that is not set.
      const key = options.apiKey ?? (process.env[spec.env.key] || undefined);
      const base = (options.baseUrl ?? (process.env[spec.env.baseUrl] || spec.baseUrl))?.replace(/\/+$/, '');
      if (!base || (spec.baseUrl && !key)) {
        host.logger.debug(`off: set ${spec.baseUrl ? spec.env.key : spec.env.baseUrl} to switch it on`);
        return;
      }
      const credential = key ? (spec.credential ?? bearer)(key) : {};
      const provider: Provider = {
        name: spec.name,
        endpoints: Object.fromEntries(Object.entries(spec.endpoints).map(([protocol, path]) => [protocol, below(base, path)])),
        sign: (request) => ({ ...request, headers: { ...request.headers, ...credential } }),
      };
      host.providers.add(provider);
      if (spec.models instanceof URL) return host.catalog.offer(provider, readCatalogue(spec.models));
      host.discover(provider, { url: base + spec.models.discover, headers: credential, options });
    },
  });
}

const listSchema = z.looseObject({ data: z.array(z.unknown()).nullable() });

const listedSchema = z.looseObject({
  id: z.string(),
  name: z.string().nullish(),
  created: z.number().nullish(),
  context_length: z.number().nullish(),
  /** vLLM's name for the context length. */
  max_model_len: z.number().nullish(),
  top_provider: z.looseObject({ max_completion_tokens: z.number().nullish() }).nullish(),
  architecture: z.looseObject({ input_modalities: z.array(z.string()).nullish(), output_modalities: z.array(z.string()).nullish() }).nullish(),
  supported_parameters: z.array(z.string()).nullish(),
  /** OpenRouter's own: USD per token, and per request, as decimal strings; "-1" where the price is not fixed. */
  pricing: z.record(z.string(), z.unknown()).nullish(),
});

type Listed = z.output<typeof listedSchema>;

/** `"0.00000014"` USD a token → `"0.14"` USD a million, exact to the nano and rounded up behind it; undefined for what is no fixed price. */
function perMillion(perToken: unknown): string | undefined {
  const match = typeof perToken === 'string' ? /^(\d+)(?:\.(\d+))?$/.exec(perToken) : undefined;
  if (!match) return undefined;
  const [, whole = '0', fraction = ''] = match;
  const digits = fraction.padEnd(15, '0');
  return formatUsd(BigInt(whole + digits.slice(0, 15)) + (/[1-9]/.test(digits.slice(15)) ? 1n : 0n));
}

/** What a list says a model costs. A part at "0" is one that has no price of its own, not one that is given away. */
function listedPrice(pricing: Listed['pricing']): z.input<typeof priceSchema> | undefined {
  const input = perMillion(pricing?.['prompt']);
  const output = perMillion(pricing?.['completion']);
  if (input === undefined || output === undefined) return undefined;
  const { request } = pricing ?? {};
  const parts = {
    cacheRead: perMillion(pricing?.['input_cache_read']),
    cacheWrite5m: perMillion(pricing?.['input_cache_write']),
    reasoning: perMillion(pricing?.['internal_reasoning']),
    inputAudio: perMillion(pricing?.['audio']),
    request: typeof request === 'string' && Number(request) > 0 ? request : undefined,
  };
  return { input, output, ...Object.fromEntries(Object.entries(parts).filter(([, rate]) => rate !== undefined && rate !== '0')) };
}

const knownModalities = new Set(['text', 'image', 'audio', 'video', 'pdf', 'file']);
const unknownContext = 8192;
const modelId = /^[\w.-]+\/./;

function tokenCount(...listed: readonly (number | null | undefined)[]): number | undefined {
  return listed.find((count): count is number => Number.isSafeInteger(count) && Number(count) > 0);
}

function factsOf(provider: string, listed: Listed): object {
  const name = listed.name ?? listed.id;
  const contextLength = tokenCount(listed.context_length, listed.max_model_len) ?? unknownContext;
  const input = listed.architecture?.input_modalities?.filter((modality) => knownModalities.has(modality));
  const parameters = listed.supported_parameters;
  return {
    id: modelId.test(listed.id) ? listed.id : `${provider}/${listed.id.replace(/^\/+/, '')}`,
    upstream: listed.id,
    name,
    description: `${name}, as ${provider} lists it.`,
    created: new Date((listed.created ?? 0) * 1000).toISOString().slice(0, 10),
    contextLength,
    outputLimit: tokenCount(listed.top_provider?.max_completion_tokens) ?? contextLength,
    input: input?.length ? input : ['text'],
    output: ['text'],
    supportedParameters: parameters ?? [],
    ...(parameters && {
      capabilities: {
        tools: parameters.includes('tools'),
        structuredOutput: parameters.includes('structured_outputs'),
        sampling: parameters.includes('temperature'),
        reasoning: { style: parameters.includes('reasoning') ? 'effort' : 'none' },
      },
    }),
  };
}

/** One row as a model; undefined where it is none to be sold: it makes more than text, whose price a list does not tell, or nothing says what it costs. */
function modelOf(provider: string, row: unknown, { free, price }: Pick<ProviderOptions, 'free' | 'price'>): Model | undefined {
  const listed = listedSchema.parse(row);
  const told = listedPrice(listed.pricing);
  if (listed.architecture?.output_modalities?.some((modality) => modality !== 'text')) return undefined;
  if (!free && !price && !told) return undefined;
  const model = checkModel({ ...factsOf(provider, listed), ...(told && !price && !free ? { price: told } : { free: true }) });
  return price ? { ...model, free: undefined, price } : model;
}

/**
 * A vendor's own list of models (`GET /models` in the chat style) as facts. A row that cannot be read costs
 * itself and not the whole list; a body that is no list throws.
 */
export function readListing(provider: string, body: unknown, options: Pick<ProviderOptions, 'free' | 'price'>): Model[] {
  return (listSchema.parse(body).data ?? []).flatMap((row) => {
    try {
      return modelOf(provider, row, options) ?? [];
    } catch {
      return [];
    }
  });
}
