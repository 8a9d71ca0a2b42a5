/** What is asked of embedding models and what they answer, whatever the wire. */
import { z } from 'zod';
import { GatewayError, toCount, type InputSize, type Model, type Usage } from '../../../core/index.ts';
import type { Part as BodyPart } from '../../shared/family/wires.ts';
import { refuse, type Lose } from '../../shared/wire-kit/losses.ts';
import { countNumbers, readVector, type Vector } from './vectors.ts';

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
  /** Titles of the inputs, in their order. */
  readonly titles?: readonly (string | undefined)[] | undefined;
  /** What to do with a text that is too long. Default: refuse it. */
  readonly truncate?: 'none' | 'start' | 'end' | undefined;
  readonly user?: string | undefined;
  /** Whether the client's reply is one vector and not a list. */
  readonly isAlone?: boolean | undefined;
}

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
  /** Inputs of one request at most, and bytes of all of them. One input is never cut. */
  inputs: z.int().positive().optional(),
  bytes: z.int().positive().optional(),
  /** Whether it tells purposes apart. */
  purposes: z.boolean().default(true),
});
export type Flags = z.output<typeof flagsSchema>;

/** Throws if the model has no vectors of the length that is asked for. */
export function checkDimensions(
  { dimensions: asked }: EmbeddingAsk,
  { id }: Model,
  { dimensions }: Flags,
): void {
  if (asked === undefined) return;
  let advice = 'leave it out';
  if (Array.isArray(dimensions)) {
    if (dimensions.includes(asked)) return;
    advice = `send one of ${dimensions.join(', ')}`;
  } else if (dimensions) {
    const { least, most } = dimensions;
    if (asked >= least && asked <= most) return;
    advice = `send ${least} to ${most}`;
  }
  refuse('dimensions', `The model "${id}" has no vectors of ${asked} dimensions: ${advice}.`);
}

/** Bounds the input. */
export function measureInputs(inputs: readonly Input[]): InputSize {
  let [textBytes, images, mediaBytes] = [0, 0, 0];
  for (const input of inputs) {
    if (typeof input === 'string') textBytes += Buffer.byteLength(input);
    else
      for (const part of input) {
        if (typeof part === 'number') textBytes += 1;
        else if (part.type === 'text') textBytes += Buffer.byteLength(part.text);
        else if (part.kind === 'image') images += 1;
        else mediaBytes += Math.ceil(part.data.length * 0.75);
      }
  }
  return { textBytes, images, mediaBytes, items: inputs.length };
}

/** The inputs as texts. Throws for what a wire of texts cannot carry. */
export function requireTexts({ inputs }: EmbeddingAsk, { id }: Model): string[] {
  return inputs.map((input, index) => {
    if (typeof input === 'string') return input;
    const texts = input.flatMap((part) =>
      typeof part === 'object' && part.type === 'text' ? part.text : [],
    );
    if (texts.length === input.length) return texts.join('\n');
    const advice =
      typeof input[0] === 'number'
        ? 'texts, not the numbers of their tokens: send texts. In LangChain, set ' +
          '`check_embedding_ctx_length=False`.'
        : 'texts only: leave media out.';
    return refuse(inputs.length > 1 ? `inputs[${index}]` : 'inputs', `The model "${id}" takes ${advice}`);
  });
}

/** What one request takes. */
export interface Share {
  readonly inputs: number;
  readonly bytes?: number | undefined;
}

/** Numbers in JSON are long, so that many vectors of them are asked for in parts that are quickly read. */
const mostInNumbers = 256;

/** The share of a request: what the vendor takes, unless the catalogue says less. */
export function getShare({ inputs, bytes, base64 }: Flags, most: Share): Share {
  const usual = Math.min(inputs ?? most.inputs, base64 ? Infinity : mostInNumbers);
  return { inputs: usual, bytes: bytes ?? most.bytes };
}

/** What a vendor is asked for that can write both: numbers if the client wants them and they are few. */
export function chooseEncoding({ inputs, encoding }: EmbeddingAsk): 'float' | 'base64' {
  return inputs.length > mostInNumbers ? 'base64' : encoding;
}

/** Splits the inputs into those of each request. */
export function split<Item extends Input>(
  items: readonly Item[],
  { inputs, bytes = Infinity }: Share,
): (readonly Item[])[] {
  const shares: Item[][] = [];
  let free = 0;
  for (const item of items) {
    const size = bytes === Infinity ? 0 : measure(item);
    const current = shares.at(-1);
    if (current && current.length < inputs && size <= free) current.push(item);
    else {
      shares.push([item]);
      free = bytes;
    }
    free -= size;
  }
  return shares;
}

function measure(input: Input): number {
  return typeof input === 'string' ? Buffer.byteLength(input) : JSON.stringify(input).length;
}

function countAnswered({ inputs }: EmbeddingAsk, share: Share, index: number): number {
  if (share.bytes !== undefined) return split(inputs, share)[index]?.length ?? 0;
  return Math.min(share.inputs, inputs.length - index * share.inputs);
}

/** The count of a vendor that charges the input alone; undefined if it reports none. */
export function countInput(value: unknown): Usage | undefined {
  const input = toCount(value);
  return input === undefined ? undefined : { input, output: 0 };
}

const buildFault = (sent: string): GatewayError =>
  new GatewayError('upstream_failed', `The provider sent ${sent}.`);

/** Reads the vectors of a reply. Throws unless there is one, of the right length, for each input. */
export function readVectors(
  values: readonly unknown[],
  ask: EmbeddingAsk,
  part: BodyPart | undefined,
  findShare: (model: Model) => Share,
): readonly Vector[] {
  const expected = part ? countAnswered(ask, findShare(part.model), part.index) : ask.inputs.length;
  if (values.length !== expected) throw buildFault(`${values.length} vectors for ${expected} inputs`);
  return checkLengths(values.map(readVector), ask);
}

/** Throws unless all vectors have the length that was asked for, or one length. */
export function checkLengths(
  vectors: readonly Vector[],
  { dimensions }: Pick<EmbeddingAsk, 'dimensions'>,
): readonly Vector[] {
  const [first] = vectors;
  const length = dimensions ?? (first && countNumbers(first));
  const wrong = vectors.find((vector) => countNumbers(vector) !== length);
  if (wrong === undefined) return vectors;
  throw buildFault(`a vector of ${countNumbers(wrong)} dimensions where ${length} were expected`);
}

export type Words = Readonly<Partial<Record<Purpose, string>>>;

/** A vendor's word for the purpose; a loss if it has none. */
export function findWord({ purpose }: EmbeddingAsk, words: Words, lose: Lose): string | undefined {
  if (purpose === undefined) return undefined;
  const word = words[purpose];
  if (word === undefined) lose('purpose', `the vendor has no word for "${purpose}"`, 'model');
  return word;
}
