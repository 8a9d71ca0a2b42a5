/**
 * A protocol is a pure pair of maps: its client side reads what callers send and writes what they get, its
 * upstream side does the same towards a vendor that speaks it. Nothing here does I/O, and cutting a stream at
 * any byte changes nothing.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { z } from 'zod';
import type { Fee } from './billing/fees.ts';
import type { Mode } from './billing/service-modes.ts';
import type { CanonicalEvent } from './canonical/events.ts';
import type { CanonicalRequest } from './canonical/request.ts';
import type { Capabilities, Model } from './catalog.ts';
import type { Edit } from './crossing/splice.ts';
import type { GatewayError } from './errors.ts';
import type { CallDescription } from './host/description.ts';
import type { Loss } from './loss.ts';

/** A `count` asks how many tokens the input of a call would be: it is answered, and nothing is generated or charged. */
export type Operation = 'generate' | 'edit' | 'count';

/** The headers of a client's request; names in lower case. */
export type ClientHeaders = Readonly<IncomingHttpHeaders>;

/** What a path alone tells: some protocols name the model, or ask for a stream, there and not in the body. */
export interface Match {
  readonly operation: Operation;
  readonly model?: string;
  readonly stream?: boolean;
  /** How a streamed reply is to be framed, where the address says so; as server-sent events otherwise. */
  readonly framing?: 'events' | 'array';
  /** What the address takes, where it is not all that its protocol does. */
  readonly body?: Protocol['body'];
}

/** What bounds the input from above without counting tokens: bytes of text, and media by the catalogue's rule. */
export interface InputSize {
  /** UTF-8 bytes of the request without its media; a byte-level tokeniser never makes more tokens than this. */
  readonly textBytes: number;
  readonly images: number;
  /** Bytes of audio, video and documents, decoded. */
  readonly mediaBytes: number;
  /** Whether there are documents or films that its vendor has to fetch, or it may fetch what it likes: nobody knows how long that is. */
  readonly fetched?: boolean | undefined;
  /** Whether the call names a cache that its vendor keeps: the vendor reads it at the price of cached tokens, and nobody here knows how long it is. */
  readonly cached?: boolean | undefined;
  /** Whether the call marks nothing to be cached. */
  readonly uncached?: boolean | undefined;
  /**
   * How many times its vendor may read the conversation again, after each use of a tool that it runs itself. `Infinity`
   * where the call sets no limit.
   */
  readonly rounds?: number | undefined;
}

/** How the caller wants the call routed: the `provider` object of chat-completions and responses, checked. */
export interface Preferences {
  /** Providers to try first, in this order; alone, or never. */
  readonly order?: readonly string[] | undefined;
  readonly only?: readonly string[] | undefined;
  readonly ignore?: readonly string[] | undefined;
  readonly allow_fallbacks?: boolean | undefined;
  /** Refuse the call where a target would lose one of its parameters. */
  readonly require_parameters?: boolean | undefined;
  readonly routing?: 'priority' | 'cost' | 'latency' | 'balanced' | undefined;
  readonly sort?: 'price' | 'latency' | 'throughput' | undefined;
  /** Models to go on with when no provider of the one asked for answers. */
  readonly fallback?: readonly string[] | undefined;
  /** The dearest price accepted, as decimal strings: in USD per million tokens, and of `request` in USD. */
  readonly max_price?:
    | {
        readonly prompt?: string | undefined;
        readonly completion?: string | undefined;
        readonly request?: string | undefined;
      }
    | undefined;
}

/** One request, read and checked. */
export interface ClientCall {
  readonly model: string;
  readonly stream: boolean;
  /** Tokens of output the caller allows for each candidate; undefined where none was stated. */
  readonly outputLimit: number | undefined;
  readonly candidates: number;
  /** How hard the model is asked to think: the name of an effort, or a number of tokens; undefined where that is left to it. */
  readonly effort?: string | number | undefined;
  /** How a streamed reply is framed: as server-sent events, or as the elements of one JSON array (generate-content without `alt=sse`). */
  readonly framing: 'events' | 'array';
  /** Whether the caller asked for usage inside a stream. */
  readonly usageWanted: boolean;
  readonly size: InputSize;
  /** What it lets its vendor do that is charged for apart from tokens; nothing where absent. */
  readonly fees?: readonly Fee[];
  readonly preferences: Preferences;
  /** Whether the body holds reasoning that cannot go on as it is: in our envelope, or without the seal its vendor wants. */
  readonly carriesState: boolean;
  /**
   * Passed a model that is reached by the client's own protocol; the answer is whether its vendor takes the body as it is.
   * Absent where every vendor does.
   */
  suits?(model: Model): boolean;
  /**
   * Passed a model that several protocols reach; the answer is whether its vendor refuses the call on the client's own
   * protocol and takes it on another. Absent where no vendor does.
   */
  needsOtherWire?(model: Model): boolean;
  /** How it asks to be served otherwise than usual, which a vendor charges by rates of its own. */
  readonly modes?: readonly Mode[];
  /** Whether the oldest turns may be left out where the conversation is too long for the model. */
  readonly truncates?: boolean;
  /** The request in canonical form, with what the protocol could not say canonically in its vendor bag. */
  decode(): CanonicalRequest;
}

/** What an encoder of replies has to know of the call it answers. */
export interface ReplyContext {
  /** The exchange's id, for protocols whose replies carry one of their own. */
  readonly id: string;
  /** `<owner>/<name>` of the model that answers. */
  readonly model: string;
  /** Unix seconds. */
  readonly created: number;
  /** The time when it is asked, in Unix seconds; absent where replies must not depend on it. */
  readonly now?: () => number;
  readonly call: ClientCall;
  /** Passed what kind of thing of the reply the client's protocol has no place for (`audio`, `candidates[1]`), and why; absent where nobody listens. */
  readonly lost?: (kind: string, reason: string) => void;
  /** What the model that answers can be asked for. */
  readonly capabilities?: Capabilities;
}

/** Turns canonical events into the client's stream: an event in, finished frames out (often none, sometimes several). */
export interface EventEncoder {
  push(event: CanonicalEvent): string;
}

export interface ErrorReply {
  readonly status: number;
  readonly body: unknown;
}

/** Where a stream stands: frames of the reply that a client was sent, the first and the last of them whole. */
export interface SentFrames {
  readonly first: string;
  readonly last: string;
}

export interface ClientSide {
  /** Passed method, path (decoded) and query (as it was sent, without its question mark); undefined: not a path of mine. */
  match(method: string, path: string, query?: string): Match | undefined;
  /** Passed the parsed body and its text, the match and the headers; throws `invalid_request` naming the field at fault. */
  read(body: unknown, text: string, match: Match, headers: ClientHeaders): ClientCall;
  /** How the protocol spells the canonical request's own fields, where it spells them otherwise (`{ topP: 'top_p' }`), and those of what is in it (`{ '.cache': 'cache_control' }`). */
  readonly fieldNames: Readonly<Record<string, string>>;
  /** Starts an encoder for one streamed reply; what it gives for `response-end` is the reply's last word. */
  encodeEvents(context: ReplyContext): EventEncoder;
  /** Passed all events of a complete reply; the answer is the JSON body that says the same. */
  encodeReply(events: readonly CanonicalEvent[], context: ReplyContext): unknown;
  /** Passed an error before the first byte of a reply, the id of its exchange, and what its call was matched as; the answer is status and body in the client's words. */
  encodeError(error: GatewayError, id: string, match?: Match): ErrorReply;
  /** Passed an error inside a stream, whether any of the reply was sent, and where known what; the answer is the frames that end it, never looking complete. */
  encodeStreamError(error: GatewayError, call: ClientCall, begun: boolean, sent?: SentFrames): string;
  /** The frame to send while the vendor is silent; empty where the protocol has none that its clients would skip. */
  readonly keepAlive: string;
}

/** One server-sent event of a vendor, parsed. */
export interface WireEvent {
  readonly event: string | undefined;
  readonly data: string;
}

/** Turns a vendor's stream into canonical events; a state machine over one reply. */
export interface EventDecoder {
  push(event: WireEvent): CanonicalEvent[];
  /** The stream ended: gives what was still open, and `response-end` only if the reply is complete. */
  end(): CanonicalEvent[];
}

/** Where the verbatim lane sends a call. */
export interface Retarget {
  /** The call as it was read: whether it streams, and what limit it stated. */
  readonly call: ClientCall;
  readonly model: string;
  /** Set where the limit has to be lowered, or stated though the caller did not. */
  readonly outputLimit: number | undefined;
  readonly capabilities: Capabilities;
}

export interface EncodedRequest {
  /** Sent as JSON; a `Form` as multipart/form-data. */
  readonly body: unknown;
  /** What is asked of the vendor, where it is not what the client's path said: a conversation about a picture is an edit. */
  readonly operation?: Operation;
  readonly losses: readonly Loss[];
  /** Stop sequences the wire could not be given: the reply is watched for them instead. */
  readonly stops?: readonly string[];
  /** What the text of the reply has to be, though the vendor was only asked for it in words: JSON, of a schema where there is one. A reply that is not is reported. */
  readonly expects?: { readonly schema?: unknown } | undefined;
}

export interface UpstreamSide {
  /**
   * The protocol's own headers, beside those of every call: passed the client's where it speaks the protocol too, and
   * none where it speaks another. What is not named here never reaches a vendor.
   */
  headers(client: ClientHeaders): Readonly<Record<string, string>>;
  /** Passed a client's call in the same protocol, and where it goes; the answer is the edits its own bytes need, and nothing else of them is changed. */
  retarget(target: Retarget): readonly Edit[];
  /** Passed a canonical request and the model it is for; the answer is the wire body and what it could not say. */
  encodeRequest(request: CanonicalRequest, model: Model, outputLimit: number | undefined): EncodedRequest;
  /** Starts a decoder for one streamed reply of a model. */
  decodeEvents(call: ClientCall, model?: Model): EventDecoder;
  /** Passed a whole JSON reply of a model; the answer is its events, with `response-end` only if it is complete. Throws on garbage. */
  decodeReply(body: unknown, call: ClientCall, model?: Model): CanonicalEvent[];
  /** Passed the status and text of a refusal; the answer is what the caller may know of it. */
  decodeError(status: number, text: string): GatewayError;
  /** Where a reply, or an event of a stream, can name its model; the first place that holds one counts. */
  readonly modelPaths: readonly (readonly string[])[];
  /**
   * How a stream tells that it is complete: by an event of its own, or by ending in silence once every candidate has
   * finished; then all from the last finish on is the reply's last word.
   */
  readonly ending: 'event' | 'silence';
  /**
   * How its vendors cache a conversation, which they read again after each use of a tool that they run: `marked`, only
   * where the call asks for it, so further readings cost as much as the first; `automatic`, always, so they cost what
   * cached input does. Absent where further readings are not billed.
   */
  readonly caching?: 'marked' | 'automatic';
  /** The names of events that only open a stream; where they have no names, what an event decodes to tells. */
  readonly openings?: ReadonlySet<string>;
  /** The frame that ends every stream, added in the verbatim lane where a vendor left it out; empty where there is none. */
  readonly terminator: string;
}

/**
 * Counting the tokens of an input: a JSON body in, one number out. A client's count is matched and read by its
 * client side with the operation `count` (a call that neither streams nor has a limit), and goes on verbatim by
 * `retarget`. Where the target's protocol has no such side, or its vendor nothing at the address, the gateway answers
 * with an estimate and says that it is one.
 */
export interface CountSide {
  /** Passed the plain address where a provider takes calls; the answer is where it takes counts. A provider whose endpoint is a function is asked itself. */
  addressFor(calls: string): string;
  /** Passed a canonical request and the model it is for; the answer is the body of a count on this wire, and what it could not say. */
  encodeRequest(request: CanonicalRequest, model: Model): EncodedRequest;
  /** Passed a vendor's answer to a count; the answer is its number of tokens. Throws on garbage. */
  decodeReply(body: unknown): number;
  /** Passed a number of tokens; the answer is the JSON body that tells a client. */
  encodeReply(tokens: number): unknown;
}

export interface Protocol {
  readonly name: string;
  /** `multipart`: its calls may come as forms with files, so none of them goes on verbatim; a form is read as a `Form`. */
  readonly body: 'json' | 'multipart';
  /** Whether the end of a stream repeats all of its text, so that whoever writes one keeps it until then. */
  readonly repeatsText?: boolean;
  readonly client: ClientSide;
  readonly upstream: UpstreamSide;
  /** The schema of its flags in a model's `capabilities.wire[name]`; without it there are none. */
  readonly capabilities?: z.ZodType;
  /** Absent where the protocol has no call that counts tokens. */
  readonly count?: CountSide;
  /** Asked for what stands at all its addresses, once, by whoever describes the gateway. */
  openapi?(): Promise<readonly CallDescription[]>;
}
