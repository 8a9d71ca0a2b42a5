/**
 * How groups travel between threads. The operations of every call, and their results, become one JSON text
 * of flat lists. A structured clone of the objects takes the event loop 10.6 µs a call instead of 7.9
 * (`test/bench/ledger.ts`). Rarer operations are cloned next to the text, which holds their positions.
 */
import type { Nano } from '../../../../core/index.ts';
import type { Operation, Outcome } from '../operations.ts';
import type { QueueName, Quote, Reserved, ReserveRequest, Settled, Settlement } from '../store.ts';

/** A group of operations, or the outcomes of one in the same order. */
export interface Parcel<Whole> {
  readonly queue: QueueName;
  /**
   * JSON of a list. It holds a flat list for each packed item, and for every other item its index in
   * `whole`.
   */
  readonly text: string;
  readonly whole: readonly Whole[];
}

function packQuote({ model, provider, price, least, most, input, owed }: Quote) {
  return [model, provider, price, String(least), String(most), input, String(owed)] as const;
}

function unpackQuote([model, provider, price, least, most, input, owed]: ReturnType<
  typeof packQuote
>): Quote {
  return { model, provider, price, least: BigInt(least), most: BigInt(most), input, owed: BigInt(owed) };
}

function packReserve({ id, account, key, at, claim, quotes, tags }: ReserveRequest) {
  const wanted = claim ? ([claim.name, claim.fingerprint, claim.expires] as const) : null;
  return ['reserve', id, account, key, at, wanted, quotes.map(packQuote), tags ?? null] as const;
}

function unpackReserve(packed: ReturnType<typeof packReserve>): ReserveRequest {
  const [, id, account, key, at, wanted, quotes, tags] = packed;
  const claim = wanted ? { name: wanted[0], fingerprint: wanted[1], expires: wanted[2] } : undefined;
  return { id, account, key, at, claim, quotes: quotes.map(unpackQuote), tags: tags ?? undefined };
}

function packAmount(amount: Nano | undefined): string | null {
  return amount === undefined ? null : String(amount);
}

function unpackAmount(amount: string | null): Nano | undefined {
  return amount === null ? undefined : BigInt(amount);
}

function packSettle(settlement: Settlement) {
  const { id, amount, vendor, reason, basis, suspect, at } = settlement;
  const { model = null, provider = null, price = null, input, output, usage, costs, attempts } = settlement;
  const whom = [model, provider, price] as const;
  const figures = [input, output, usage, costs, attempts] as const;
  const ended = [packAmount(amount), packAmount(vendor), reason, basis, suspect, at] as const;
  return ['settle', id, ended, whom, figures] as const;
}

function unpackSettle([, id, ended, whom, figures]: ReturnType<typeof packSettle>): Settlement {
  const [amount, vendor, reason, basis, suspect, at] = ended;
  const [model, provider, price] = whom;
  const [input, output, usage, costs, attempts] = figures;
  const target = { model: model ?? undefined, provider: provider ?? undefined, price: price ?? undefined };
  const consumption = { ...target, input, output, usage, costs, attempts };
  const amounts = { amount: unpackAmount(amount), vendor: unpackAmount(vendor) };
  return { id, ...amounts, reason, basis, suspect, at, ...consumption };
}

type PackedOperation = ReturnType<typeof packReserve> | ReturnType<typeof packSettle>;

function packOperation({ name, argument }: Operation): PackedOperation | undefined {
  if (name === 'reserve') return packReserve(argument);
  return name === 'settle' && !argument.outcome ? packSettle(argument) : undefined;
}

function unpackOperation(packed: PackedOperation): Operation {
  if (packed[0] === 'reserve') return { name: 'reserve', argument: unpackReserve(packed) };
  return { name: 'settle', argument: unpackSettle(packed) };
}

type PackedAnswer =
  | readonly ['reserved', quote: number, amount: string]
  | readonly ['short', by: 'balance' | 'cap', available: string]
  | readonly ['posted', posted: string, overage: string]
  | readonly [Exclude<Settled['status'], 'posted' | 'adjusted'>];

function packAnswer(answer: Reserved | Settled): PackedAnswer | undefined {
  switch (answer.status) {
    case 'reserved':
      return ['reserved', answer.quote, String(answer.amount)];
    case 'short':
      return answer.by === 'budget' ? undefined : ['short', answer.by, String(answer.available)];
    case 'posted':
      return ['posted', String(answer.posted), String(answer.overage)];
    case 'claimed':
    case 'limited':
    case 'adjusted':
      return undefined;
    default:
      return [answer.status];
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

/** The outcome of an operation; `answer` repeats its value if that may have a packed form. */
export type Finished = Outcome & { readonly answer?: Reserved | Settled };

export function packOutcomes(queue: QueueName, outcomes: readonly Finished[]): Parcel<Outcome> {
  return pack(queue, outcomes, ({ answer }) => answer && packAnswer(answer));
}

export function unpackOutcomes(parcel: Parcel<Outcome>): Outcome[] {
  return unpack<Outcome, PackedAnswer>(parcel, (packed) => ({ value: unpackAnswer(packed) }));
}
