/** Reads a reply of bytes as it comes, such as speech: nothing of it is kept, and it ends at a limit. */
import type { VendorReplies } from '../../../core/index.ts';
import { GatewayError } from '../../../core/index.ts';
import type { ReadAnswer, Wire } from './wires.ts';

async function* limitBytes(body: AsyncIterable<Uint8Array>, most: number): AsyncGenerator<Uint8Array> {
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > most)
      throw new GatewayError('upstream_failed', `The provider sent more than the ${most} bytes of a reply.`);
    yield chunk;
  }
}

/** Undefined if the reply has another type, and so is JSON or an error. */
export function readBytes<Ask extends object, Answer>(
  { bytes: reader }: Pick<Wire<Ask, Answer>, 'bytes'>,
  ask: Ask,
  replies: VendorReplies,
): ReadAnswer<Answer> | undefined {
  const { headers, body } = replies.first;
  const type = String(headers['content-type'] ?? '');
  if (!reader?.types.test(type) || replies.count > 1) return undefined;
  const bytes = limitBytes(body, reader.most);
  try {
    const answer = reader.read({ type, headers, bytes }, ask, (usage) => replies.report(usage));
    return { answer, usage: undefined };
  } catch (error) {
    // A reply that is not read would stay open.
    const close = (): Promise<unknown> => bytes.return(undefined);
    void bytes.next().then(close, close);
    throw error;
  }
}
