import { z } from 'zod';
/** What is asked of embedding models and what they answer, whatever the wire. */
import { createFlagReader, GatewayError, type Model } from '../../../core/index.ts';
import type { Lose } from '../../shared/wire-kit/losses.ts';

/** A part of an input that is more than a text. */
export type Part =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'media';
      readonly kind: 'image' | 'audio' | 'video' | 'document';
      readonly mediaType: string;
      /** Base64 data. */
      readonly data: string;
    };

/** What gets one vector: a text, the numbers of its tokens, or parts. */
export type Input = string | readonly number[] | readonly Part[];

/** What the vectors are for. Vendors have words of their own for them. */
export const purposes = [
  'query',
  'document',
  'similarity',
  'classification',
  'clustering',
  'question-answering',
  'fact-verification',
  'code-query',
] as const;
export type Purpose = (typeof purposes)[number];

export interface EmbeddingAsk {
  readonly inputs: readonly Input[];
  readonly dimensions?: number | undefined;
  /** How the client wants the numbers: as JSON, or in base64 as 32-bit floats, little end first. */
  readonly encoding: 'float' | 'base64';
  readonly purpose?: Purpose | undefined;
  readonly title?: string | undefined;
  /** What to do with a text that is too long. Default: refuse it. */
  readonly truncate?: 'none' | 'start' | 'end' | undefined;
  readonly user?: string | undefined;
}

/** Numbers, or base64 of them. */
export type Vector = readonly number[] | string;

/** What the catalogue says of a model, by the name of its wire. */
export const flagsSchema = z.strictObject({
  /** The dimensions that a call may ask for: all of these, or any in a range. None: it has one length. */
  dimensions: z
    .union([
      z.array(z.int().positive()).min(1),
      z.strictObject({ least: z.int().positive(), most: z.int().positive() }),
    ])
    .optional(),
  /** Whether it takes the numbers of tokens in place of texts. */
  tokens: z.boolean().default(false),
  /** Whether its vendor can write base64. */
  base64: z.boolean().default(true),
  /** Inputs of one request at most. */
  inputs: z.int().positive().optional(),
});
export type Flags = z.output<typeof flagsSchema>;

export function createReader(wire: string): (model: Pick<Model, 'capabilities'>) => Flags {
  const read = createFlagReader(wire, flagsSchema);
  return ({ capabilities }) => read(capabilities);
}

/** Throws if the model has no vectors of the length that is asked for. */
export function checkDimensions(
  { dimensions: asked }: EmbeddingAsk,
  { id }: Model,
  { dimensions }: Flags,
): void {
  if (asked === undefined) return;
  const fits = Array.isArray(dimensions)
    ? dimensions.includes(asked)
    : dimensions !== undefined &&
      'least' in dimensions &&
      asked >= dimensions.least &&
      asked <= dimensions.most;
  if (fits) return;
  const known = Array.isArray(dimensions)
    ? `one of ${dimensions.join(', ')}`
    : dimensions && 'least' in dimensions && `${dimensions.least} to ${dimensions.most}`;
  throw new GatewayError(
    'unsupported_parameter',
    `The model "${id}" has no vectors of ${asked} dimensions: ${known ? `send ${known}` : 'leave it out'}.`,
    { param: 'dimensions' },
  );
}

/** The inputs as texts. Throws for what a wire of texts cannot carry. */
export function requireTexts({ inputs }: EmbeddingAsk, { id }: Model): string[] {
  return inputs.map((input, index) => {
    if (typeof input === 'string') return input;
    const texts = input.flatMap((part) =>
      typeof part === 'object' && part.type === 'text' ? part.text : [],
    );
    if (texts.length === input.length) return texts.join('\n');
    const isTokens = typeof input[0] === 'number';
    throw new GatewayError(
      'unsupported_parameter',
      isTokens
        ? `The model "${id}" takes texts, not the numbers of their tokens: send texts. In LangChain, set ` +
            '`check_embedding_ctx_length=False`.'
        : `The model "${id}" takes texts only: leave media out.`,
      { param: inputs.length > 1 ? `inputs[${index}]` : 'inputs' },
    );
  });
}

/** Cuts the inputs into lists of so many. */
export function chunk<Item>(items: readonly Item[], size: number): (readonly Item[])[] {
  const chunks: (readonly Item[])[] = [];
  for (let at = 0; at < items.length; at += size) chunks.push(items.slice(at, at + size));
  return chunks;
}

/** A vendor's word for the purpose; a loss if it has none. */
export function findWord(
  { purpose }: EmbeddingAsk,
  words: Readonly<Partial<Record<Purpose, string>>>,
  lose: Lose,
): string | undefined {
  if (purpose === undefined) return undefined;
  const word = words[purpose];
  if (word === undefined) lose('purpose', `the vendor has no word for "${purpose}"`, 'model');
  return word;
}
