/** Sends notices as signed JSON to a program of your own. It may get one twice, with the same `id`. */
import { z } from 'zod';
import { channelOptions, defineChannel, sendJson } from '../shared/notices/channel.ts';
import { sendSigned } from '../shared/notices/signed.ts';

export const webhook = defineChannel({
  kind: 'webhook',
  options: z.strictObject({
    url: z.url({ protocol: /^https?$/ }).meta({ secret: true }),
    /** Shared with the receiver, which checks the signature. */
    secret: z.string().min(32, 'has to have at least 32 characters'),
    ...channelOptions,
  }),
  open: (options) => ({
    send: ({ state, event, severity, title, notices }) =>
      sendSigned(options, {
        state,
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
    // Any reply shows that the receiver is there.
    check: () =>
      sendJson(options.url, { method: 'HEAD', timeout: options.timeout }, [400, 401, 403, 404, 405]),
  }),
});
