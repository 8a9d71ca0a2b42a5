/**
 * A protocol is a pure pair of maps. Its client side reads what callers send and writes what they get; its
 * upstream side does the same towards providers. Nothing here does I/O, and cutting a stream at any byte
 * changes nothing.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { z } from 'zod';
import type { CanonicalEvent, Opaque } from './canonical/events.ts';
import type { Block, CanonicalRequest, Turn } from './canonical/request.ts';
import type { Usage } from './canonical/usage.ts';
import type { Principal } from './exchange.ts';
import type { Loss, LossCode } from './loss.ts';
import type { Capabilities, Model } from './model-facts.ts';
import type { Fee, Mode } from './price-terms.ts';
import type { UpstreamResponse } from './provider.ts';
import type { GatewayError } from './util/errors.ts';

export interface Protocol {
  readonly name: string;
  /** `multipart`: calls may be forms with files, so none is verbatim; `readForm` reads them. */
  readonly body: 'json' | 'multipart';
  /** What the models of its calls produce, if these are no conversations: a word of the models' `output`. */
  readonly makes?: string;
  /** Whether the end of a stream repeats all of its text, so that the encoder keeps it until then. */
  readonly repeatsText?: boolean;
  readonly client: ClientSide;
  readonly upstream: UpstreamSide;
  /** Schema of a model's flags in `capabilities.wire[name]`. Absent: the protocol has no flags. */
  readonly capabilities?: z.ZodType;
  /** Absent if the protocol has no count. */
  readonly count?: CountSide;
  /** Describes the endpoints for `/openapi.json`, once. */
  describeCalls?(): Promise<readonly CallDescription[]>;
  /** What its clients can ask for, for operators. Absent: nothing was measured. */
  describeAbilities?(): Promise<Abilities>;
}

/** What clients can ask for, by what people call it, and how it fares on each wire of vendors. */
export interface Abilities {
  readonly [name: string]: {
    /** The members of a body that ask for it. */
    readonly ask: Readonly<Record<string, unknown>>;
    /** Outcomes by the names of wires: `works`, `approximated`, `lost` or `refused`. */
    readonly wires: Readonly<Record<string, string>>;
  };
}

/**
 * `count` asks for the number of input tokens: nothing is generated or charged. `compact` asks for a short
 * form of the conversation.
 */
export type Operation = 'generate' | 'edit' | 'count' | 'compact';

/** A client's headers, with lower-case names. */
export type ClientHeaders = Readonly<IncomingHttpHeaders>;

/** What a path says: in some protocols it names the model, or asks for a stream. */
export interface Match {
  readonly operation: Operation;
  readonly model?: string;
  readonly stream?: boolean;
  /** Framing of a streamed reply, if the path sets it. Default: server-sent events. */
  readonly framing?: 'events' | 'array';
  /** Body kind of this path, if it is narrower than the protocol's. */
  readonly body?: Protocol['body'];
}

/** Bounds the input without counting tokens: bytes of text, and media by the catalogue's rule. */
export interface InputSize {
  /** UTF-8 bytes of the request without media. A byte-level tokeniser never makes more tokens. */
  readonly textBytes: number;
  readonly images: number;
  /** Decoded bytes of audio, video and documents. */
  readonly mediaBytes: number;
  /** Pages of documents: a provider reads each as a picture, besides its text. */
  readonly pages?: number | undefined;
  /** Tokens that the provider adds itself, to explain tools of its own to the model. */
  readonly added?: number | undefined;
  /** Whether the provider fetches documents, films or pages of its choice, so that the length is unknown. */
  readonly fetched?: boolean | undefined;
  /** Whether the call names a cache at the provider: read at the cached rate, length unknown here. */
  readonly cached?: boolean | undefined;
  /** Whether the call marks nothing for caching. */
  readonly uncached?: boolean | undefined;
  /** Whether nothing that the call writes to a cache is kept there for an hour or longer. */
  readonly brief?: boolean | undefined;
  /** How many texts the model reads one by one, so that each may fill its context. Default: one. */
  readonly items?: number | undefined;
  /**
   * How often the provider may read the conversation again: once after each use of a tool that it runs
   * itself. `Infinity` if the call sets no limit.
   */
  readonly rounds?: number | undefined;
}

/** How the caller wants the call routed: the `provider` object, checked. */
export interface Preferences {
  /** Providers to try first, exclusively, never. */
  readonly order?: readonly string[] | undefined;
  readonly only?: readonly string[] | undefined;
  readonly ignore?: readonly string[] | undefined;
  readonly allow_fallbacks?: boolean | undefined;
  /** Refuse the call if a target would lose one of its parameters. */
  readonly require_parameters?: boolean | undefined;
  readonly routing?: 'priority' | 'cost' | 'latency' | 'balanced' | undefined;
  readonly sort?: 'price' | 'latency' | 'throughput' | undefined;
  /** Models to try after all providers of the requested one. */
  readonly fallback?: readonly string[] | undefined;
  /** Highest accepted rates by unit, as decimal strings. `prompt` and `completion` are input and output. */
  readonly max_price?: Readonly<Record<string, string | undefined>> | undefined;
  /** Wishes that only a provider can fulfil that routes calls itself. */
  readonly others?: Readonly<Record<string, unknown>> | undefined;
}

/** One request, read and checked. */
export interface ClientCall {
  readonly model: string;
  readonly stream: boolean;
  /** Output limit per candidate. Undefined if the caller states none. */
  readonly outputLimit: number | undefined;
  readonly candidates: number;
  /** Requested reasoning: an effort or a number of tokens. Undefined if the model decides. */
  readonly effort?: string | number | undefined;
  /** Whether the caller has a use for reasoning. Undefined: always. */
  readonly reasoningWanted?: boolean | undefined;
  /** Framing of a streamed reply: server-sent events, or the elements of one JSON array. */
  readonly framing: 'events' | 'array';
  /** Whether the caller asked for usage in the stream. */
  readonly usageWanted: boolean;
  readonly size: InputSize;
  /** Provider work with fees apart from tokens that the call allows. */
  readonly fees?: readonly Fee[];
  readonly preferences: Preferences;
  /** Whether it holds reasoning that cannot go on as it is: in our envelope, or without a needed seal. */
  readonly carriesState: boolean;
  /** Whether providers of the same protocol accept the body as it is for a model. Absent: they all do. */
  suits?(model: Model): boolean;
  /** Whether this model rejects the call on the client's own protocol and accepts it on another. */
  needsOtherWire?(model: Model): boolean;
  /** Requested service mode, which the provider bills at its own rates. */
  readonly modes?: readonly Mode[];
  /** Whether the oldest turns may be dropped if the conversation is too long for the model. */
  readonly truncates?: boolean;
  /** What the body says of whom and what the call is for. */
  readonly labels?: Labels | undefined;
  /** Paths of required fields that the client left out. Their default holds. */
  readonly defaulted?: readonly string[] | undefined;
  /** Decodes the request. What the canonical form lacks goes into the vendor bag. */
  decode(): CanonicalRequest;
}

/** What an encoder of replies knows about the call. */
export interface ReplyContext {
  /** The exchange's id, for protocols whose replies carry one. */
  readonly id: string;
  /** `<owner>/<name>` of the model that answers. */
  readonly model: string;
  /** Unix seconds. */
  readonly created: number;
  /** Current Unix seconds. Absent if replies must not depend on the time. */
  readonly readClock?: () => number;
  readonly call: ClientCall;
  /** Reports a part of the reply that the client's protocol cannot carry (`candidates[1]`), and why. */
  readonly reportLoss?: (kind: string, reason: string) => void;
  /** Capabilities of the model that answers. */
  readonly capabilities?: Capabilities;
}

/** The provider's replies to the bodies of one call. */
export interface VendorReplies {
  /** The protocol that the provider speaks. */
  readonly wire: Protocol;
  readonly model: Model;
  /** The number of bodies. */
  readonly count: number;
  /** The reply to the first of them, which can be read as it comes. */
  readonly first: UpstreamResponse;
  /** Sends a body, the first of which was sent, and resolves with its reply. Rejects if it is refused. */
  fetch(index: number): Promise<Uint8Array>;
  /** Sends what is written from now on as it comes, with this media type. It holds no usage. */
  setType(type: string): void;
  /** Counts what all replies so far have used. */
  report(usage: Usage): void;
  /** The usage that the call is charged for; undefined if it is what was reported. */
  findCharged(): Usage | undefined;
}

/** Writes the client's stream: an event in, complete frames out (often none, sometimes several). */
export interface EventEncoder {
  push(event: CanonicalEvent): string;
}

export interface ErrorReply {
  readonly status: number;
  readonly body: unknown;
}

/** The first and the last frames that the client was sent, complete. */
export interface SentFrames {
  readonly first: string;
  readonly last: string;
}

/** A request body: its bytes, their text and the parsed value. */
export interface ReadBody {
  readonly bytes: Buffer;
  readonly text: string;
  readonly value: unknown;
  /** What the client sent, if it was completed. */
  readonly ownText?: string;
}

/** A form as `read` gets it in place of JSON. Its text is that of the fields. */
export interface ReadForm {
  readonly fields: readonly (readonly [name: string, value: string])[];
}

/** Forms that may be longer than `server.bodyLimit`, as memory holds `held` bytes of each at most. */
export interface LargeForms {
  readonly most: number;
  readonly held: number;
  /** Opens what reads one form as it arrives. The call closes it at its end, however it ends. */
  open(contentType: string, owner: Pick<Principal, 'key' | 'account'>): FormReading;
}

export interface FormReading {
  /** The client is paused until it resolves. */
  write(chunk: Buffer): Promise<void>;
  end(): Promise<ReadForm>;
  close(): void;
}

/** A body that is not in memory. Each attempt reads it from its start. */
export interface BodySource {
  readonly length: number;
  read(): AsyncIterable<Uint8Array>;
}

export function isSource(body: unknown): body is BodySource {
  return typeof body === 'object' && body !== null && 'read' in body && typeof body.read === 'function';
}

export interface ClientSide {
  /** Receives method, decoded path and raw query without `?`. Undefined: not a path of this protocol. */
  match(method: string, path: string, query?: string): Match | undefined;
  /** Reads a body of multipart/form-data (`tollgate/kit` can). Absent: the protocol takes no forms. */
  readForm?(body: Buffer, contentType: string): Promise<ReadForm>;
  /** Reads them in place of `readForm`. */
  readonly largeForms?: LargeForms | undefined;
  /**
   * Returns the whole body in place of one that refers to what the gateway keeps for the account, such as an
   * earlier reply. Undefined: it refers to nothing. It runs before anything is reserved.
   */
  expand?(
    body: ReadBody,
    place: { readonly account: string; readonly match: Match },
  ): Promise<ReadBody> | undefined;
  /** Reads and checks a request. Throws `invalid_request` that names the field. */
  read(body: unknown, text: string, match: Match, headers: ClientHeaders): ClientCall;
  /**
   * Canonical field name → this protocol's name, where they differ (`{ topP: 'top_p' }`); nested ones as `{
   * '.cache': 'cache_control' }`.
   */
  readonly fieldNames: Readonly<Record<string, string>>;
  /** Starts an encoder for one stream. What it returns for `response-end` is sent after settling. */
  encodeEvents(context: ReplyContext): EventEncoder;
  /** Writes a JSON reply from all its events. */
  encodeReply(events: readonly CanonicalEvent[], context: ReplyContext): unknown;
  /**
   * Reads the replies of a call that is no conversation, and writes the client's in pieces, so that a large
   * one does not hold the event loop. Of JSON, the first piece comes when the reply is sure to be whole, and
   * the last one holds the usage. Absent: replies cross as events.
   */
  joinReplies?(replies: VendorReplies, context: ReplyContext): AsyncIterable<string | Uint8Array>;
  /** Writes an error before the first byte of a reply: status and body. */
  encodeError(error: GatewayError, id: string, match?: Match): ErrorReply;
  /**
   * Writes an error inside a stream: frames that end it and never look complete. `begun`: some was sent. If
   * it writes nothing, the connection breaks off.
   */
  encodeStreamError(error: GatewayError, call: ClientCall, begun: boolean, sent?: SentFrames): string;
  /** The object with usage, and so the cost, of a JSON reply and of an event. Absent: `usage`. */
  readonly usagePath?: { readonly reply: Edit['path']; readonly event: Edit['path'] };
  /** The frame to send during provider silence. Empty if the protocol has none that clients skip. */
  readonly keepAlive: string;
}

/** One server-sent event of a provider. */
export interface WireEvent {
  readonly event: string | undefined;
  readonly data: string;
}

/** Decodes a provider's stream; a state machine for one reply. */
export interface EventDecoder {
  /** Decodes an event. It does not throw: an event that it cannot read is an `error`, and nothing follows. */
  push(event: WireEvent): CanonicalEvent[];
  /** Whether the reply is complete if nothing follows, for protocols whose streams end in silence. */
  readonly mayEnd?: boolean;
  /** Ends the stream: with `response-end` if the reply is complete. A call that was cut does not end. */
  end(): CanonicalEvent[];
}

/** Where the verbatim lane sends a call. */
export interface Retarget {
  /** The call as read: whether it streams, and its limit. */
  readonly call: ClientCall;
  readonly model: string;
  /** Name of the provider: what one vendor wants, another may have to be spared. */
  readonly provider: string;
  /** Set if the limit is lowered, or stated though the caller did not. */
  readonly outputLimit: number | undefined;
  readonly capabilities: Capabilities;
}

export interface EncodedRequest {
  /** Sent as JSON, or as it is if `contentType` says what it is; also a `BodySource`. */
  readonly body: unknown;
  readonly contentType?: string | undefined;
  /** Further bodies of the same call, which are sent as `joinReplies` asks for their replies. */
  readonly others?: readonly unknown[];
  /** The provider's operation, if it is not the client's: a conversation about a picture is an edit. */
  readonly operation?: Operation;
  readonly losses: readonly Loss[];
  /** Stop sequences that the wire cannot carry: the reply is watched for them. */
  readonly stops?: readonly string[];
  /**
   * What the text has to be though the provider was only instructed in words: JSON, of a schema if there is
   * one. A reply that is not is reported.
   */
  readonly expects?: { readonly schema?: unknown } | undefined;
  /** The member of the reply's JSON text that is the answer, if the wire cannot ask for the answer alone. */
  readonly unwraps?: string | undefined;
}

/** The turn of a part, and the part's canonical path, which names its losses: `turns[3].blocks[0]`. */
export interface PartPlace {
  readonly turn: Turn;
  readonly path: string;
}

/** What writes parts of one request for one model. */
export interface PartEncoder {
  /** Whether the model does not take the settings as the client wrote them. Absent: it does. */
  readonly refitsSettings?: boolean;
  /** Whether the model does not take this member of the list as the client wrote it. */
  isStale(index: number): boolean;
  /** Whether the model's vendor reads this state. A turn with other state is encoded without it. */
  readsState?(state: Opaque): boolean;
  /** Writes the turn with this index as members of the list. */
  encodeTurn(turn: Turn, index: number): readonly unknown[];
  /** Encodes one block of a turn or of a tool's result. */
  encodeBlock(block: Block, place: PartPlace): readonly unknown[];
  /** Fits the finished body to rules that span its members. */
  finish?(body: Readonly<Record<string, unknown>>): unknown;
}

/** Writes parts of a body for a provider of the client's own protocol. Core leaves the rest as it is. */
export interface PartsSide {
  /** The member of the body that lists the turns. */
  readonly list: string;
  /** Whether instructions at the start are not in the list, but in a member of their own. */
  readonly liftsInstructions?: boolean;
  start(about: {
    readonly call: ClientCall;
    readonly text: string;
    /** The request as it is to be sent. */
    readonly request: CanonicalRequest;
    readonly model: Model;
    /** Reports a loss by its canonical path. */
    readonly lose: (path: string, reason: string, code?: LossCode) => void;
  }): PartEncoder;
}

export interface UpstreamSide {
  /**
   * The protocol's own headers. Receives the client's headers if it speaks this protocol, otherwise none. A
   * header not named here never reaches a provider.
   */
  buildHeaders(client: ClientHeaders): Readonly<Record<string, string>>;
  /** Returns the edits that a client's own bytes need for this target. Nothing else of them changes. */
  retarget(target: Retarget): readonly Edit[];
  /**
   * Encodes a canonical request for a model: the wire body, and what it cannot express. `inPlace`: its
   * settings go into the body of a client of this protocol, whose names of tools stay.
   */
  encodeRequest(
    request: CanonicalRequest,
    model: Model,
    outputLimit: number | undefined,
    inPlace?: boolean,
  ): EncodedRequest;
  /** Absent: a request that cannot go on as the client wrote it is encoded whole, from its canonical form. */
  readonly parts?: PartsSide;
  /** Starts a decoder for one stream of a model. */
  decodeEvents(call: ClientCall, model?: Model): EventDecoder;
  /** Decodes a JSON reply, parsed and as text. `response-end` means it is complete. Throws on garbage. */
  decodeReply(body: unknown, call: ClientCall, model?: Model, text?: string): CanonicalEvent[];
  /** Decodes an error reply: what the client may know of it. */
  decodeError(status: number, text: string): GatewayError;
  /** Paths at which a reply or event can name its model. The first that holds one counts. */
  readonly modelPaths: readonly (readonly string[])[];
  /**
   * How a stream shows that it is complete: by an event, or by ending in silence after every candidate has
   * finished. Then everything from the last finish on is held until the call is settled.
   */
  readonly ending: 'event' | 'silence';
  /**
   * How providers cache a conversation that they read again after each use of their own tools. `marked`: only
   * if the call asks for it, so further readings cost the full rate. `automatic`: always, at the cached rate.
   * Absent: further readings are not billed.
   */
  readonly caching?: 'marked' | 'automatic';
  /** Names of events that only open a stream. Without names, the decoded events decide. */
  readonly openings?: ReadonlySet<string>;
  /**
   * Corrects an event's data, or a JSON reply, that clients of this protocol would misread, for the verbatim
   * lane: a vendor's own word for the end, parts where clients expect a text. `events`: what it was decoded
   * to. Returns `data` if it is right. Absent: replies go on as they are.
   */
  correctReply?(data: string, events: readonly CanonicalEvent[], call: ClientCall): string;
  /** The frame that ends every stream, or nothing. The verbatim lane adds it if the provider left it out. */
  readonly terminator: string;
}

/**
 * Token counts: a JSON body in, one number out. A client's count is matched and read by its client side with
 * the operation `count`, and goes on verbatim by `retarget`. If the target's protocol or provider has no
 * count, the gateway answers with an estimate and says so.
 */
export interface CountSide {
  /**
   * The provider's URL for counts, from its URL for calls. A provider whose endpoint is a function is asked
   * itself.
   */
  buildAddress(calls: string): string;
  /** Encodes a canonical request as a count, and what it cannot express. */
  encodeRequest(request: CanonicalRequest, model: Model): EncodedRequest;
  /** Decodes the number of tokens. Throws on garbage. */
  decodeReply(body: unknown): number;
  /** Writes the JSON body for a number of tokens. */
  encodeReply(tokens: number): unknown;
}

/** A member (with an ASCII name) to set or add; if `value` is undefined, to remove. */
export interface Edit {
  readonly path: readonly [string, ...string[]];
  readonly value: unknown;
}

/** A name and a value, which is empty for a tag that has none. */
export type Tag = readonly [name: string, value: string];

/** What a body says of its call: the end user, and metadata. */
export interface Labels {
  readonly user?: string | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

/** Base URL of an SDK, below the gateway's own. */
export interface ClientAddress {
  readonly protocol: string;
  /** The SDK package that takes it: `openai`. */
  readonly client: string;
  readonly path: string;
  /** Further unknown paths that get the protocol's errors: those at the root, which protocols share. */
  readonly also?: RegExp;
  /** What is served below it, for errors at unknown paths: `served here are models with the methods …`. */
  readonly serves?: string;
}

/** Schemas by media type. A stream's schema describes the data of one event. */
export type Content = Readonly<Record<string, z.ZodType>>;

/**
 * What an endpoint takes and returns, as zod schemas, for `/openapi.json`. A function returns it, so that
 * nothing loads before the first request for it. A schema with a `title` is listed once, under that name.
 */
export interface Description {
  /** What calling it does, in a few words. */
  readonly summary: string;
  /** Further details, in Markdown. */
  readonly details?: string | undefined;
  /** The roles of operators that may call it. */
  readonly roles?: readonly string[];
  readonly query?: z.ZodObject;
  readonly headers?: z.ZodObject;
  readonly body?: Content | undefined;
  /** Successful replies, by status. */
  readonly replies: Readonly<Record<number, Content>>;
  /** The body of its errors. */
  readonly error: z.ZodType;
}

/** A protocol's endpoint, which has no route that names its path. */
export interface CallDescription extends Description {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path, with parameters in braces: `/v1beta/models/{model}:generateContent`. */
  readonly path: string;
}
