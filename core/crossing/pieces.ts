/** What crosses: the encoded body of a request, and the pieces of a reply. */
import type { CanonicalEvent } from '../canonical/events.ts';
import type { CanonicalRequest } from '../canonical/request.ts';
import type { Loss } from '../loss.ts';
import type { EncodedRequest, Operation } from '../protocol.ts';
import type { UpstreamRequest, UpstreamResponse } from '../provider.ts';

/** Text for the client, or its bytes. `last` means success, and is held until the call is settled. */
export interface Piece {
  readonly text: string | Uint8Array;
  readonly last: boolean;
  /** Whether everything so far only opens the reply, so that the client need not be sent it yet. */
  readonly opening: boolean;
  /** The media type of the reply, if it is not the usual one of its call. */
  readonly type?: string | undefined;
}

export type Pieces = AsyncIterableIterator<Piece, void, void>;

export function toText({ text }: Pick<Piece, 'text'>): string {
  return typeof text === 'string' ? text : Buffer.from(text).toString();
}

/** A request that was changed to be sent, and what it lost, by the client's path. */
export interface ChangedRequest {
  readonly request: CanonicalRequest;
  readonly losses: readonly Loss[];
}

type Body = Pick<UpstreamRequest, 'body' | 'source'>;

export interface EncodedBody extends Body, Pick<EncodedRequest, 'expects' | 'unwraps'> {
  readonly verbatim: boolean;
  /** Further bodies of the call, each sent as a request of its own. */
  readonly others?: readonly Body[] | undefined;
  readonly contentType: string;
  readonly operation: Operation;
  readonly losses: readonly Loss[];
  /** Stop sequences that the wire cannot carry: the reply is watched for them. */
  readonly stops: readonly string[];
}

/** How a reply crosses, which follows from how its request did. */
export interface ReplyLane extends Pick<EncodedBody, 'verbatim' | 'stops' | 'expects' | 'unwraps'> {
  /** The `transformStream` taps that apply; undefined if none does. */
  readonly transform: ((events: AsyncIterable<CanonicalEvent>) => AsyncIterable<CanonicalEvent>) | undefined;
  /** Send the further bodies of the call. */
  readonly fetchOthers?: readonly (() => Promise<UpstreamResponse>)[] | undefined;
}
