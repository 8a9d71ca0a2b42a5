/** A receiver of signed messages, which checks them and answers as a test says. */
import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import { serve } from './serve.ts';

export const receiverSecret = 'what the receiver checks messages with';

export interface Received {
  readonly text: string;
  readonly isSigned: boolean;
}

export interface Receiver {
  readonly url: string;
  readonly received: readonly Received[];
  close(): Promise<void>;
}

/** Answers with these statuses, one after the other, and then with 200. At 0 it does not answer. */
export async function startReceiver(...statuses: number[]): Promise<Receiver> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request.setEncoding('utf8')) text += String(chunk);
    const [, time = '', signature] =
      /^t=(\d+),v1=(\w+)$/.exec(String(request.headers['tollgate-signature'])) ?? [];
    const expected = createHmac('sha256', receiverSecret).update(`${time}.${text}`).digest('hex');
    const status = statuses[received.length] ?? 200;
    received.push({ text, isSigned: signature === expected });
    if (status > 0)
      response.writeHead(status, status === 302 ? { location: '/' } : {}).end('x'.repeat(100_000));
  });
  const { origin, close } = await serve(server);
  return { url: `${origin}/budgets`, received, close };
}
