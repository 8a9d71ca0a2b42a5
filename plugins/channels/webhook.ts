/** Sends notices as signed JSON to a program of your own. It may get one twice, with the same `id`. */
import { z } from 'zod';
import { allowReference } from '../../core/index.ts';
import { channelOptions, defineChannel } from '../shared/notices/channel.ts';
import { sendSigned } from '../shared/notices/message.ts';

const address = z.url({ protocol: /^https?$/ });
const shared = z.string().min(32, 'has to have at least 32 characters');

export const webhook = defineChannel({
  kind: 'webhook',
  options: z.strictObject({
    url: allowReference(address),
    /** Shared with the receiver, which checks the signature. */
    secret: allowReference(shared),
    ...channelOptions,
  }),
  open({ url, secret, timeout }, openSecret) {
    const [where, signing] = [openSecret(url, address), openSecret(secret, shared)];
    return {
      async send({ event, severity, isOver, title, notices }) {
        const [[to], [key]] = [await where.read(), await signing.read()];
        await sendSigned(
          { url: to, secret: key, timeout },
          {
            state: isOver ? 'resolved' : 'raised',
            event,
            severity,
            title,
            notices: notices.map(({ id, at, subject, text, accounts = [], facts = {} }) => ({
              id,
              at: new Date(at).toISOString(),
              subject,
              text,
              accounts,
              facts,
            })),
          },
        );
      },
    };
  },
});
