/**
 * How groups travel between threads. What every call asks, and its answers, become one JSON text of flat
 * lists, since a structured clone of the objects would cost more than everything else the event loop does for
 * them. Rarer operations are cloned beside the text, which holds their positions.
 */
import type { Operation, Outcome } from '../operations.ts';
import type { QueueName, Quote, Reserved, Settled, Settlement } from '../store.ts';

/** A group of operations, or the outcomes of one in the same order. */
export interface Parcel<Whole> {
  readonly queue: QueueName;
  /**
   * JSON of a list. It holds a flat list for each item that is packed, and for every other its place in
   * `whole`.
   */
  readonly text: string;
  readonly whole: readonly Whole[];
}

type PackedQuote = readonly [
  model: string,
  provider: string,
  price: string,
  least: string,
  most: string,
  input: number,
  owed: string,
];
type PackedReserve = readonly [
  'reserve',
  id: string,
  account: string,
  key: string,
  at: number,
  claim: readonly [string, string, number] | null,
  quotes: readonly PackedQuote[],
  tags: readonly string[] | null,
];
type PackedSettle = readonly [
  'settle',
  id: string,
  amount: string | null,
  reason: string,
  basis: Settlement['basis'],
  suspect: boolean,
  model: string | null,
  provider: string | null,
  price: string | null,
  input: number,
  output: number,
  usage: string,
  costs: string,
  attempts: number,
  at: number,
  vendor: string | null,
];
type PackedOperation = PackedReserve | PackedSettle;

type PackedReserved =
  | readonly ['reserved', quote: number, amount: string]
  | readonly ['short', by: 'balance' | 'cap', available: string];
type PackedSettled =
  | readonly ['posted', posted: string, overage: string]
  | readonly [Exclude<Settled['status'], 'posted' | 'adjusted'>];
type PackedAnswer = PackedReserved | PackedSettled;

function packQuote({ model, provider, price, least, most, input, owed }: Quote): PackedQuote {
  return [model, provider, price, String(least), String(most), input, String(owed)];
}

function unpackQuote([model, provider, price, least, most, input, owed]: PackedQuote): Quote {
  return { model, provider, price, least: BigInt(least), most: BigInt(most), input, owed: BigInt(owed) };
}

function packOperation({ name, argument }: Operation): PackedOperation | undefined {
  if (name === 'reserve') {
    const { id, account, key, at, claim, quotes, tags } = argument;
    return [
      'reserve',
      id,
      account,
      key,
      at,
      claim ? [claim.name, claim.fingerprint, claim.expires] : null,
      quotes.map(packQuote),
      tags ?? null,
    ];
  }
  if (name !== 'settle' || argument.outcome) return undefined;
  const {
    id,
    amount,
    reason,
    basis,
    suspect,
    model = null,
    provider = null,
    price = null,
    input,
    output,
    usage,
    costs,
    attempts,
    at,
    vendor,
  } = argument;
  return [
    'settle',
    id,
    amount === undefined ? null : String(amount),
    reason,
    basis,
    suspect,
    model,
    provider,
    price,
    input,
    output,
    usage,
    costs,
    attempts,
    at,
    vendor === undefined ? null : String(vendor),
  ];
}

function unpackOperation(packed: PackedOperation): Operation {
  if (packed[0] === 'reserve') {
    const [, id, account, key, at, claim, quotes, tags] = packed;
    const wanted = claim ? { name: claim[0], fingerprint: claim[1], expires: claim[2] } : undefined;
    return {
      name: 'reserve',
      argument: {
        id,
        account,
        key,
        at,
        claim: wanted,
        quotes: quotes.map(unpackQuote),
        tags: tags ?? undefined,
      },
    };
  }
  const [
    ,
    id,
    amount,
    reason,
    basis,
    suspect,
    model,
    provider,
    price,
    input,
    output,
    usage,
    costs,
    attempts,
    at,
    vendor,
  ] = packed;
  const whom = { model: model ?? undefined, provider: provider ?? undefined, price: price ?? undefined };
  return {
    name: 'settle',
    argument: {
      id,
      amount: amount === null ? undefined : BigInt(amount),
      reason,
      basis,
      suspect,
      ...whom,
      input,
      output,
      usage,
      costs,
      attempts,
      at,
      vendor: vendor === null ? undefined : BigInt(vendor),
    },
  };
}

/** An answer of an operation that has a packed form. */
export type Answered =
  | { readonly name: 'reserve'; readonly value: Reserved }
  | { readonly name: 'settle'; readonly value: Settled };

function packAnswer({ value }: Answered): PackedAnswer | undefined {
  switch (value.status) {
    case 'reserved':
      return ['reserved', value.quote, String(value.amount)];
    case 'short':
      return value.by === 'budget' ? undefined : ['short', value.by, String(value.available)];
    case 'posted':
      return ['posted', String(value.posted), String(value.overage)];
    case 'claimed':
    case 'limited':
    case 'adjusted':
      return undefined;
    default:
      return [value.status];
  }
}

function unpackAnswer(packed: PackedAnswer): Reserved | Settled {
  switch (packed[0]) {
    case 'reserved':
      return { status: 'reserved', quote: packed[1], amount: BigInt(packed[2]) };
    case 'short':
      return { status: 'short', by: packed[1], available: BigInt(packed[2]) };
    case 'posted':
      return { status: 'posted', posted: BigInt(packed[1]), overage: BigInt(packed[2]) };
    default:
      return { status: packed[0] };
  }
}

function pack<Each, Packed>(
  queue: QueueName,
  all: readonly Each[],
  packOne: (each: Each) => Packed | undefined,
): Parcel<Each> {
  const whole: Each[] = [];
  const packed = all.map((each) => packOne(each) ?? whole.push(each) - 1);
  return { queue, text: JSON.stringify(packed), whole };
}

function unpack<Each, Packed extends readonly unknown[]>(
  { text, whole }: Parcel<Each>,
  unpackOne: (packed: Packed) => Each,
): Each[] {
  const packed: readonly (Packed | number)[] = JSON.parse(text);
  return packed.map((each) => {
    if (typeof each !== 'number') return unpackOne(each);
    const found = whole[each];
    if (found === undefined) throw new RangeError(`there is no operation ${each} outside the text`);
    return found;
  });
}

export function packGroup(queue: QueueName, operations: readonly Operation[]): Parcel<Operation> {
  return pack(queue, operations, packOperation);
}

export function unpackGroup(parcel: Parcel<Operation>): Operation[] {
  return unpack(parcel, unpackOperation);
}

/** What a thread answers: the outcome itself, and its packed form where it has one. */
export type Finished = Outcome & { readonly answered?: Answered };

export function packOutcomes(queue: QueueName, outcomes: readonly Finished[]): Parcel<Outcome> {
  return pack<Outcome & { readonly answered?: Answered }, PackedAnswer>(
    queue,
    outcomes,
    ({ answered }) => answered && packAnswer(answered),
  );
}

export function unpackOutcomes(parcel: Parcel<Outcome>): Outcome[] {
  return unpack<Outcome, PackedAnswer>(parcel, (packed) => ({ value: unpackAnswer(packed) }));
}
