/**
 * Makes a wire of what its vendor has. What a call asks for besides is reported as lost, and its inputs are
 * split into requests that the vendor takes.
 */
import { createFlagReader, type Model } from '../../../core/index.ts';
import type { ReadAnswer, Wire } from '../../shared/family/wires.ts';
import { decodeError, encodeError } from '../../shared/openai/errors.ts';
import type { Lose } from '../../shared/wire-kit/losses.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';
import {
  checkDimensions,
  chooseEncoding,
  findWord,
  flagsSchema,
  getShare,
  readVectors,
  requireTexts,
  split,
  type EmbeddingAsk,
  type Flags,
  type Input,
  type Share,
  type Words,
} from './ask.ts';
import type { Vector } from './vectors.ts';

export type EmbeddingWire = Wire<EmbeddingAsk, readonly Vector[]>;

/** What is asked of the vendor, as far as it has it. */
interface Settings extends Pick<EmbeddingAsk, 'dimensions' | 'truncate' | 'user'> {
  /** The purpose in its word. */
  readonly word: string | undefined;
  readonly encoding: 'float' | 'base64';
}

interface Asked extends Settings {
  readonly model: Model;
  readonly flags: Flags;
  /** Those of one request. */
  readonly inputs: readonly Input[];
  /** Returns the title of the next input. */
  readonly takeTitle: () => string | undefined;
  readonly rest: Fields;
}

export interface Form
  extends Pick<EmbeddingWire, 'name' | 'client' | 'correct'>, Partial<Pick<EmbeddingWire, 'errors'>> {
  /** What the vendor takes at once, unless the catalogue says less. */
  readonly most: Share;
  readonly words?: Words;
  /** The word of a vendor that needs one. */
  readonly usualWord?: string;
  readonly hasUser?: true;
  readonly hasTitles?: true;
  /** Whether it has no base64, whatever the catalogue says. */
  readonly hasNumbersOnly?: true;
  /** Where it can cut a text that is too long. */
  listCuts?(flags: Flags): readonly ('start' | 'end')[];
  /** The inputs that the model takes. Throws for others. Default: texts. */
  selectInputs?(ask: EmbeddingAsk, model: Model): readonly Input[];
  encodeBody(asked: Asked): Fields;
  decodeBody(body: unknown): ReadAnswer<readonly unknown[]>;
}

function fitSettings(ask: EmbeddingAsk, form: Form, flags: Flags, lose: Lose): Settings {
  const { dimensions, truncate, user, titles } = ask;
  const { words = {}, usualWord, hasUser, hasTitles, listCuts } = form;
  if (user !== undefined && !hasUser) lose('user', 'the vendor has no such field');
  if (titles?.some((title) => title !== undefined) && !hasTitles)
    lose('titles', 'the vendor has no such field');
  const word = findWord(ask, flags.purposes ? words : {}, lose);
  if (word === undefined && usualWord !== undefined)
    lose('purpose', `sent as "${usualWord}", because the vendor needs one`, 'approximated');
  const settings = {
    dimensions,
    user,
    word: word ?? usualWord,
    encoding: flags.base64 ? chooseEncoding(ask) : 'float',
  };
  if (truncate === undefined || truncate === 'none' || listCuts?.(flags).includes(truncate))
    return { ...settings, truncate };
  lose('truncate', 'the vendor does not cut texts so', 'model');
  return settings;
}

export function defineWire(form: Form): EmbeddingWire {
  const { name, client, correct, errors = { encodeError, decodeError } } = form;
  const { most, hasNumbersOnly, selectInputs = requireTexts } = form;
  const read = createFlagReader(name, flagsSchema);
  const readFlags = ({ capabilities }: Model): Flags =>
    hasNumbersOnly ? { ...read(capabilities), base64: false } : read(capabilities);
  const findShare = (model: Model): Share => getShare(readFlags(model), most);
  return {
    name,
    errors,
    flags: flagsSchema,
    ...(client && { client }),
    ...(correct && { correct }),
    encode(ask, model, { lose, rest }) {
      const flags = readFlags(model);
      checkDimensions(ask, model, flags);
      const settings = fitSettings(ask, form, flags, lose);
      const titles = ask.titles?.values();
      const takeTitle = (): string | undefined => titles?.next().value;
      return split(selectInputs(ask, model), findShare(model)).map((inputs) =>
        form.encodeBody({ ...settings, model, flags, inputs, takeTitle, rest }),
      );
    },
    decode(body, ask, part) {
      const { answer, usage } = form.decodeBody(body);
      return { answer: readVectors(answer, ask, part, findShare), usage };
    },
  };
}
