/**
 * The models the vendor serves, with the flags that decide what it refuses. The names and limits are those of
 * real models, so that a gateway's own catalogue can name them; everything else about them is simplified.
 */
export interface ModelFacts {
  /** Reasons before it answers: refuses `max_tokens` and the sampling fields, as such models do. */
  readonly reasoning?: boolean;
  /** The efforts it takes; all there are unless given. */
  readonly efforts?: readonly string[];
  /** Has JSON mode, and refuses schemas: DeepSeek's older names, GPT-4 Turbo. */
  readonly jsonAlone?: boolean;
  /**
   * Refuses function tools while it reasons, with the effort it assumes if none is stated: GPT-5.4 and later
   * models.
   */
  readonly toolsUnlessReasoning?: { readonly default: string };
  /** Can be asked for sound. */
  readonly speaks?: boolean;
  /** The name in its replies, if it is not the requested one. */
  readonly snapshot?: string;
  /** Tokens of input and output together. */
  readonly contextLength?: number;
  /** Tokens of output at most. */
  readonly outputLimit?: number;
  /** For vendors that speak the same protocol and accept more than OpenAI does: what else they accept. */
  readonly extensions?: Extensions;
  /** Wants its thoughts back once tools were called, as DeepSeek does. */
  readonly wantsThoughts?: boolean;
  /** Facts the listing of models shows beside the usual four (`context_length`, `pricing` …). */
  readonly listed?: Readonly<Record<string, unknown>>;
}

export interface Extensions {
  /** Top-level fields of a request. */
  readonly fields?: readonly string[];
  /** Fields of a message, or of a tool call within one. */
  readonly messageFields?: readonly string[];
  /** Values of a tool's `type`. */
  readonly toolTypes?: readonly string[];
}

const chat = { contextLength: 128_000, outputLimit: 16_384 };
const reasoning = {
  reasoning: true,
  efforts: ['minimal', 'low', 'medium', 'high'],
  contextLength: 400_000,
  outputLimit: 128_000,
};

export const defaultModels: Readonly<Record<string, ModelFacts>> = {
  'gpt-4o': { ...chat, snapshot: 'gpt-4o-2024-08-06' },
  'gpt-audio': { ...chat, speaks: true, snapshot: 'gpt-audio-2025-08-28' },
  'gpt-4o-mini': { ...chat, snapshot: 'gpt-4o-mini-2024-07-18' },
  'gpt-4-turbo': {
    contextLength: 128_000,
    outputLimit: 4096,
    jsonAlone: true,
    snapshot: 'gpt-4-turbo-2024-04-09',
  },
  'gpt-4.1-nano': { contextLength: 1_047_576, outputLimit: 32_768, snapshot: 'gpt-4.1-nano-2025-04-14' },
  'gpt-5': { ...reasoning, snapshot: 'gpt-5-2025-08-07' },
  'gpt-5-nano': { ...reasoning, snapshot: 'gpt-5-nano-2025-08-07' },
  'o4-mini': {
    reasoning: true,
    efforts: ['low', 'medium', 'high'],
    contextLength: 200_000,
    outputLimit: 100_000,
    snapshot: 'o4-mini-2025-04-16',
  },
};

/** Fields a model of one kind answers 400 to, even at their default values. */
export const unsupportedFields = {
  reasoning: [
    'max_tokens',
    'top_p',
    'presence_penalty',
    'frequency_penalty',
    'logprobs',
    'top_logprobs',
    'logit_bias',
    'stop',
  ],
  plain: ['reasoning_effort', 'verbosity'],
} as const;
