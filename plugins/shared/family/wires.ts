/**
 * A family is a kind of calls that are no conversations, such as embeddings. It has one form of what is asked
 * and one of what is answered, and wires: pairs of pure maps between these forms and bodies. Clients speak
 * some wires, vendors speak all. The rest, from the path to the ledger, is the same for all families
 * (`define-family.ts`).
 */
import type {
  Abilities,
  CallDescription,
  ClientSide,
  Fee,
  InputSize,
  Labels,
  Match,
  Model,
  ModelFacts,
  Preferences,
  Protocol,
  ReplyContext,
  UpstreamResponse,
  UpstreamSide,
  Usage,
} from '../../../core/index.ts';
import type { Form } from '../forms.ts';
import type { Lose } from '../wire-kit/losses.ts';
import type { Fields } from '../wire-kit/vendor-bag.ts';
import type { FileLimits } from './stored-forms.ts';

export interface Family<Ask extends object, Answer> {
  readonly name: string;
  /** What its models produce: a word in the `output` of their facts. */
  readonly makes: string;
  /** The path of its calls, by which its demo model is asked. */
  readonly path: string;
  readonly wires: readonly Wire<Ask, Answer>[];
  /** Joins the answers to the bodies of one call, in their order. */
  join(answers: readonly Answer[], ask: Ask): Answer;
  /** A model that answers without a network. */
  readonly demo: Demo<Ask, Answer>;
}

/** A call as its wire read it. */
export interface ReadAsk<Ask> {
  readonly model: string;
  /** Plain data, in which files of a form are as `readForm` gives them. */
  readonly ask: Ask;
  readonly preferences: Preferences;
  readonly size: InputSize;
  readonly labels?: Labels | undefined;
  /** Required fields that the client left out, of which the default holds. */
  readonly defaulted?: readonly string[];
  /** What the call may be charged for besides tokens. */
  readonly fees?: readonly Fee[];
  /** Fields that only this wire knows. */
  readonly rest: Fields;
  /** Names of fields of `ask` in this body, if they depend on it. */
  readonly names?: Readonly<Record<string, string>>;
  /** Whether a vendor with the same wire takes the body as it is for a model. */
  suits(model: Model): boolean;
}

/** Which of a call's bodies a reply answers. */
export interface Part {
  readonly model: Model;
  readonly index: number;
}

/** What the body of a vendor says. */
export interface ReadAnswer<Answer> {
  readonly answer: Answer;
  /** Undefined: the vendor reports none, and the call is charged by an estimate. */
  readonly usage: Usage | undefined;
}

/** A reply that is no JSON, as it comes. */
export interface ByteReply extends Pick<UpstreamResponse, 'headers'> {
  readonly type: string;
  readonly bytes: AsyncIterable<Uint8Array>;
}

export interface ByteReader<Ask, Answer> {
  /** Media types that it reads. Any other reply is read as JSON. */
  readonly types: RegExp;
  /** The most bytes of a reply. */
  readonly most: number;
  /**
   * Reads a reply as an answer, whose bytes are still to come. `report` takes the usage each time that more
   * of it is known: a client that leaves pays for what was reported.
   */
  read(reply: ByteReply, ask: Ask, report: (usage: Usage) => void): Answer;
}

export interface Wire<Ask extends object, Answer> {
  /** Its name as a protocol, by which providers state its endpoint. */
  readonly name: string;
  readonly errors: Pick<ClientSide, 'encodeError'> & Pick<UpstreamSide, 'decodeError'>;
  readonly flags?: Protocol['capabilities'];
  readonly client?: ClientWire<Ask, Answer>;
  /**
   * Encodes what is asked as the bodies of one request or several, each with as much as the vendor takes at
   * once. `rest`: fields that only this wire knows.
   */
  encode(ask: Ask, model: Model, { lose, rest }: { lose: Lose; rest: Fields }): readonly (Fields | Form)[];
  /**
   * Decodes the reply to one of the bodies. Throws if it is none, or if it does not answer all of its body.
   * `part` is absent if the client's own body went on, which asks for everything.
   */
  decode(body: unknown, ask: Ask, part?: Part): ReadAnswer<Answer>;
  /** If the vendor answers with bytes, such as speech. Then all that is asked is one body. */
  readonly bytes?: ByteReader<Ask, Answer>;
  /** Corrects a reply that goes on as the vendor wrote it. */
  correct?(text: string, ask: Ask): string;
}

/** What clients send and get. */
export interface ClientWire<Ask, Answer> {
  /** The call that a path is, without a slash at its end. */
  match(method: string, path: string): Match | undefined;
  /** Whether bodies may be forms, which `read` gets as a `Form`. `match` may say that they have to be. */
  readonly takesForms?: true;
  /** If the files of its forms may be larger than memory should hold: then they can be on the disk. */
  readonly files?: FileLimits;
  /** Reads and checks a body. Throws `invalid_request` that names the field. */
  read(body: unknown, match: Match): ReadAsk<Ask>;
  /** Names of fields of `Ask` in its bodies, where they differ. */
  readonly fieldNames?: Readonly<Record<string, string>>;
  /** The media type of replies that are bytes, each of which is sent as it comes. Absent: JSON. */
  getType?(answer: Answer): string;
  /**
   * Writes a reply as texts of a size that is quickly written. The last text has the usage, whose place
   * `usagePath` says. Or it writes bytes, without usage.
   */
  write(
    answer: Answer,
    ask: Ask,
    about: WriteContext,
  ): Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>;
  readonly usagePath?: ClientSide['usagePath'];
  /** The example of a body in it is the form of the playground. */
  describeCalls(): Promise<readonly CallDescription[]>;
  /** The rows of the capability page. `testFamily` measures them. */
  describeAbilities?(): Promise<Abilities>;
  /** The SDK that speaks it, and its base URL. */
  readonly address?: { readonly client: string; readonly path: string };
}

export interface WriteContext extends Pick<ReplyContext, 'id' | 'model' | 'created'> {
  readonly usage: Usage;
}

export interface Demo<Ask, Answer> {
  /** The kit states the rest: what it makes, by which wire, and usual limits. */
  readonly model: Partial<ModelFacts> & Pick<ModelFacts, 'id' | 'upstream' | 'name' | 'description'>;
  /** The name of the wire by which it is asked. */
  readonly wire: string;
  answer(ask: Ask): { readonly answer: Answer; readonly usage: Usage };
}
