/** A receiver of signed notices, which checks the signature and the form. */
import { createHmac } from 'node:crypto';
import { z } from 'zod';
import { startHttpChannel, type FakeChannel } from './http.ts';

export const signingSecret = 'a secret of at least 32 characters, really';

const payload = z.strictObject({
  state: z.enum(['raised', 'resolved']),
  event: z.string().min(1),
  severity: z.enum(['info', 'warning', 'critical']),
  title: z.string().min(1),
  notices: z
    .array(
      z.strictObject({
        id: z.string().min(1),
        at: z.iso.datetime(),
        subject: z.string(),
        text: z.string().min(1),
        accounts: z.array(z.string()),
        facts: z.looseObject({}),
      }),
    )
    .min(1),
});

export function startSigned(): Promise<FakeChannel> {
  return startHttpChannel('/operators', ({ method, headers }, body) => {
    if (method !== 'POST') return { status: 405 };
    const [, time = '', signature] = /^t=(\d+),v1=(\w+)$/.exec(String(headers['tollgate-signature'])) ?? [];
    const signed = `${time}.${JSON.stringify(body)}`;
    if (createHmac('sha256', signingSecret).update(signed).digest('hex') !== signature)
      return { status: 403 };
    const { severity, title, notices } = payload.parse(body);
    const words = { info: 'Note', warning: 'Warning', critical: 'Critical' };
    const text = [`${words[severity]}: ${title}`, ...notices.map((notice) => notice.text)].join('\n');
    return { status: 200, shown: { text, marks: [] } };
  });
}
