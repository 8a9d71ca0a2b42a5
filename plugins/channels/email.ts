/** Sends notices by e-mail, as plain text, through the mail server of your own. */
import { z } from 'zod';
import { allowReference } from '../../core/index.ts';
import { channelOptions, defineChannel } from '../shared/notices/channel.ts';
import { formatTitle } from '../shared/notices/message.ts';

export const email = defineChannel({
  kind: 'email',
  options: z
    .strictObject({
      host: z.string().min(1),
      port: z.int().min(1).max(65_535).default(587),
      /** `tls` from the first byte, as on port 465; `starttls` is required before anything is sent. */
      encryption: z.enum(['starttls', 'tls', 'none']).default('starttls'),
      user: z.string().min(1).optional(),
      password: allowReference(z.string().min(1)).optional(),
      from: z.email(),
      to: z.array(z.email()).min(1).max(20),
      ...channelOptions,
    })
    .refine(({ user, password }) => (user === undefined) === (password === undefined), {
      path: ['password'],
      message: 'user and password come together',
    })
    .refine(({ user, encryption }) => user === undefined || encryption !== 'none', {
      path: ['encryption'],
      message: 'a password is not sent without encryption',
    }),
  open: ({ host, port, encryption, user, password, from, to, timeout }) => ({
    async send(message) {
      const [first] = message.notices;
      const longest = timeout * 1000;
      // It takes as long to load as a small gateway.
      const { createTransport } = await import('nodemailer');
      const transport = createTransport({
        host,
        port,
        secure: encryption === 'tls',
        requireTLS: encryption === 'starttls',
        ignoreTLS: encryption === 'none',
        ...(user !== undefined && { auth: { user, pass: password } }),
        connectionTimeout: longest,
        greetingTimeout: longest,
        socketTimeout: longest,
        disableFileAccess: true,
        disableUrlAccess: true,
      });
      await transport.sendMail({
        from,
        to,
        subject: `[Tollgate] ${formatTitle(message)}`,
        text: `${message.lines.join('\n\n')}\n`,
        // The same at each attempt, so that mail programs show one of them.
        messageId: `<${first?.id}@tollgate.${host}>`,
        headers: { 'auto-submitted': 'auto-generated' },
      });
    },
  }),
});
