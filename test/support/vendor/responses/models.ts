/**
 * OpenAI's models on the responses wire, by the form of their names, with the facts that decide what is
 * refused.
 */
export interface ResponsesFacts {
  readonly contextLength: number;
  readonly outputLimit: number;
  /** The efforts it takes; none: it does not reason, and takes the sampling fields instead. */
  readonly efforts: readonly string[];
  readonly snapshot?: string;
  /** Explicit cache breakpoints. */
  readonly breakpoints?: boolean;
  /** Top-level fields of a request it knows beside the usual ones. */
  readonly fields?: readonly string[];
}

const plain = { contextLength: 128_000, outputLimit: 16_384, efforts: [] };
const reasoning = { contextLength: 400_000, outputLimit: 128_000 };
const current = ['none', 'low', 'medium', 'high', 'xhigh'];

/** The first that fits. */
const known: readonly (readonly [name: RegExp, facts: ResponsesFacts])[] = [
  [/^gpt-4o$/, { ...plain, snapshot: 'gpt-4o-2024-08-06' }],
  [/^gpt-4o(-mini)?(-\d{4}-\d\d-\d\d)?$/, plain],
  [/^gpt-4\.1(-mini|-nano)?$/, { contextLength: 1_047_576, outputLimit: 32_768, efforts: [] }],
  [/^gpt-5$/, { ...reasoning, efforts: ['minimal', 'low', 'medium', 'high'], snapshot: 'gpt-5-2025-08-07' }],
  [/^gpt-5-(mini|nano)$/, { ...reasoning, efforts: ['minimal', 'low', 'medium', 'high'] }],
  [/^gpt-5-pro$/, { ...reasoning, outputLimit: 272_000, efforts: ['high'] }],
  [/^gpt-5\.3-codex(-spark)?$/, { ...reasoning, efforts: current }],
  [/^gpt-5(\.\d)?-codex(-mini|-max)?$/, { ...reasoning, efforts: ['low', 'medium', 'high', 'xhigh'] }],
  [/^gpt-5\.\d-pro$/, { ...reasoning, efforts: ['medium', 'high', 'xhigh'] }],
  [/^gpt-5\.1$/, { ...reasoning, efforts: ['none', 'low', 'medium', 'high'] }],
  [/^gpt-5\.\d(-mini|-nano)?$/, { ...reasoning, efforts: current }],
  [/^gpt-5\.6-sol$/, { ...reasoning, efforts: [...current, 'max'], breakpoints: true }],
  [
    /^(o1-pro|o3|o3-mini|o3-pro|o4-mini)$/,
    { contextLength: 200_000, outputLimit: 100_000, efforts: ['low', 'medium', 'high'] },
  ],
];

/** The facts of a model that is only scripted. */
export const anyModel: ResponsesFacts = { ...reasoning, efforts: current };

export function findResponsesFacts(model: string): ResponsesFacts | undefined {
  return known.find(([pattern]) => pattern.test(model))?.[1];
}
