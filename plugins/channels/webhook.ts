/** Sends notices as signed JSON to a program of your own. It may get one twice, with the same `id`. */
import { z } from 'zod';
import { allowReference } from '../../core/index.ts';
import { channelOptions, defineChannel } from '../shared/notices/channel.ts';
import { sendSigned } from '../shared/notices/message.ts';

export const webhook = defineChannel({
  kind: 'webhook',
  options: z.strictObject({
    url: allowReference(z.url({ protocol: /^https?$/ })),
    /** Shared with the receiver, which checks the signature. */
    secret: allowReference(z.string().min(32, 'has to have at least 32 characters')),
    ...channelOptions,
  }),
  open: (options) => ({
    send: ({ event, severity, isOver, title, notices }) =>
      sendSigned(options, {
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
      }),
  }),
});
