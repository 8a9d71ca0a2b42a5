/**
 * Reads the replies to all bodies of a call, some at once, and writes the client's. Nothing is written before
 * all are here: half of a list is of no use, and the vendor's refusal can still have its own status.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { VendorReplies, ReplyContext, Usage } from '../../../core/index.ts';
import { GatewayError, isGatewayError, takeTurn } from '../../../core/index.ts';
import { readBytes } from './byte-replies.ts';
import type { ClientWire, Family, Part, ReadAnswer, Wire } from './wires.ts';

/** Requests of one call that a vendor gets at once. */
const atOnce = 4;

/** Some vendors write 0 for what they do not count. No usage: core makes an estimate and says so. */
export function dropZeros(usage: Usage | undefined): Usage | undefined {
  return usage && Object.values(usage).some((count) => typeof count === 'number' && count > 0)
    ? usage
    : undefined;
}

/** Sums the counts of several replies. A count that one of them lacks is unknown. */
function sumUsage(usages: readonly (Usage | undefined)[]): Usage | undefined {
  const [first, ...others] = usages;
  if (!first) return undefined;
  let sum: Usage = first;
  for (const usage of others) {
    if (!usage) return undefined;
    const counted = Object.entries(sum).flatMap(([name, count]) => {
      const more: unknown = Reflect.get(usage, name);
      return typeof count === 'number' && typeof more === 'number' ? [[name, count + more]] : [];
    });
    sum = Object.fromEntries(counted);
  }
  return sum;
}

async function readReply<Ask extends object, Answer>(
  wire: Wire<Ask, Answer>,
  ask: Ask,
  bytes: Uint8Array,
  part: Part,
): Promise<ReadAnswer<Answer>> {
  // Those of several bodies may arrive at once.
  await takeTurn(bytes.length);
  try {
    const body: unknown = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString());
    return wire.decode(body, ask, part);
  } catch (error) {
    if (isGatewayError(error)) throw error;
    throw new GatewayError('upstream_failed', 'The provider sent a reply that could not be read.', {
      cause: error,
    });
  }
}

/** Reads all replies. After a failure no further body is sent, and those under way end first. */
async function readAll<Ask extends object, Answer>(
  wire: Wire<Ask, Answer>,
  ask: Ask,
  replies: VendorReplies,
): Promise<readonly ReadAnswer<Answer>[]> {
  const read: ReadAnswer<Answer>[] = [];
  const failures: unknown[] = [];
  let next = 0;
  const readNext = async (): Promise<void> => {
    while (next < replies.count && failures.length === 0) {
      const index = next;
      next += 1;
      try {
        const bytes = await replies.fetch(index);
        read[index] = await readReply(wire, ask, bytes, { model: replies.model, index });
      } catch (error) {
        failures.push(error);
      }
      await nextTurn();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, readNext));
  if (failures.length > 0) throw failures[0];
  return read;
}

export async function* writeJoined<Ask extends object, Answer>(
  family: Pick<Family<Ask, Answer>, 'join'>,
  [wire, client, ask]: readonly [Wire<Ask, Answer>, ClientWire<Ask, Answer>, Ask],
  replies: VendorReplies,
  { id, model, created }: ReplyContext,
): AsyncGenerator<string | Uint8Array> {
  const flowing = readBytes(wire, ask, replies);
  const read = flowing ? [flowing] : await readAll(wire, ask, replies);
  const usage = sumUsage(read.map((each) => dropZeros(each.usage)));
  if (usage) replies.report(usage);
  const shown = { ...usage, ...replies.findCharged() };
  const answer = family.join(
    read.map((each) => each.answer),
    ask,
  );
  if (client.getType) replies.setType(client.getType(answer));
  for await (const text of client.write(answer, ask, { id, model, created, usage: shown })) {
    yield text;
    await nextTurn();
  }
}
