/**
 * The top-up webhook: the payment service reports a payment in a signed message, and the account is
 * credited. The signature is an HMAC-SHA256 over the time of sending and the body as it was sent. A
 * message that is too old, or not signed with the shared secret, changes nothing; a repeated message is
 * credited only once.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { allowReference, GatewayError, type Host, type Route } from '../../../core/index.ts';
import { buildErrorReply, buildReply, readInput } from '../../shared/operator-routes.ts';
import { addCredit, creditOrder } from './operator/accounts.ts';
import { reference } from './operator/reading.ts';
import type { Store } from './store.ts';

const shortestSecret = 32;

const secretSchema = z
  .string()
  .refine(
    (secret) => secret.trim().length >= shortestSecret,
    `the secret has to have at least ${shortestSecret} characters`,
  );

export const topUpOptions = z.strictObject({
  /** Shared with the sender. An empty or short secret would let anyone sign. */
  secret: allowReference(secretSchema),
  path: z.string().startsWith('/').default('/webhooks/top-up'),
  /** Seconds that may lie between sending and arrival. */
  tolerance: z.int().positive().max(3600).default(300),
});

export type TopUpOptions = z.output<typeof topUpOptions>;

/** The reference is required: without it a repeated message could not be recognised. */
const message = creditOrder.extend({ reference });

const header = 'tollgate-signature';

/**
 * Throws `forbidden` unless the body was signed with the secret, and recently. The header is
 * `t=<Unix seconds>,v1=<hexadecimal digits>`, with several `v1` while the sender changes its secret.
 */
export function checkSignature(
  value: unknown,
  body: string,
  { secret, tolerance }: Pick<TopUpOptions, 'tolerance'> & { readonly secret: string | readonly string[] },
  now: number,
): void {
  const parts = (typeof value === 'string' ? value : '').split(',').map((part) => part.trim());
  const time = parts.find((part) => /^t=\d{1,12}$/.test(part))?.slice(2) ?? '';
  const signatures = parts.filter((part) => /^v1=[0-9a-f]{64}$/.test(part)).map((part) => part.slice(3));
  const isSigned = [secret].flat().some((each) => {
    const expected = createHmac('sha256', each).update(`${time}.${body}`).digest();
    return signatures.some((signature) => timingSafeEqual(Buffer.from(signature, 'hex'), expected));
  });
  const unsigned = `The ${header} header does not sign this body with the shared secret.`;
  if (!isSigned || time === '') throw new GatewayError('forbidden', unsigned);
  const late = `The message was signed more than ${tolerance} seconds from now; sign it again.`;
  if (Math.abs(now / 1000 - Number(time)) > tolerance) throw new GatewayError('forbidden', late);
}

export function createTopUpRoute(
  { openSecret }: Pick<Host, 'openSecret'>,
  options: TopUpOptions,
  store: () => Store,
): Route {
  const secret = openSecret(options.secret, secretSchema);
  return {
    name: 'top-ups',
    method: 'POST',
    path: options.path,
    access: 'public',
    encodeError: buildErrorReply,
    describe: async () => (await import('./description.ts')).topUp,
    async handle({ headers, body, text }) {
      const { tolerance } = options;
      checkSignature(headers[header], text, { tolerance, secret: await secret.read() }, Date.now());
      const credit = readInput(message, body);
      const { status, account, total } = await addCredit(store(), credit);
      return buildReply({ status, account, reference: credit.reference, total });
    },
  };
}
