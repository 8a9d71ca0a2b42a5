/** What operators read of notices and of the channels that deliver them. */
import { z } from 'zod';
import { time } from './values.ts';

const delivery = z.object({
  channel: z.string(),
  status: z.enum(['pending', 'sent', 'failed']).meta({ description: '`failed`: it was given up.' }),
  attempts: z.int(),
  sent: time.nullable(),
  next: time.nullable().meta({ description: 'When it is sent again.' }),
  fault: z.string().nullable().meta({ description: 'Why the last attempt failed.' }),
});

export const notice = z
  .object({
    id: z.string(),
    event: z.string(),
    subject: z.string(),
    severity: z.enum(['info', 'warning', 'critical']),
    title: z.string(),
    text: z.string(),
    accounts: z.array(z.string()),
    at: time,
    isOver: z.boolean().meta({ description: 'It says that what an earlier notice was about is over.' }),
    deliveries: z.array(delivery),
  })
  .meta({ title: 'Notice' });

export const channelTest = z
  .object({ channel: z.string(), ok: z.boolean(), fault: z.string().nullable() })
  .meta({ title: 'ChannelTest' });
