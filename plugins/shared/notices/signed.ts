/** Sends JSON that its receiver can check: the signature is an HMAC-SHA256 over the time and the body. */
import { createHmac } from 'node:crypto';
import { sendJson } from './channel.ts';

export async function sendSigned(
  { url, secret, timeout }: { readonly url: string; readonly secret: string; readonly timeout: number },
  message: object,
): Promise<void> {
  const body = JSON.stringify(message);
  const time = Math.floor(Date.now() / 1000);
  const signature = createHmac('sha256', secret).update(`${time}.${body}`).digest('hex');
  return sendJson(url, { body, timeout, headers: { 'tollgate-signature': `t=${time},v1=${signature}` } });
}
