/** A Discord webhook: its limits, its errors, and what its Markdown and mentions mean. */
import { z } from 'zod';
import { startHttpChannel, type FakeChannel } from './http.ts';

const embed = z.strictObject({
  title: z.string().max(256).optional(),
  description: z.string().max(4096).optional(),
  color: z.int().min(0).max(0xff_ff_ff).optional(),
});
const payload = z
  .strictObject({
    content: z.string().max(2000).optional(),
    embeds: z.array(embed).min(1).max(10).optional(),
    allowed_mentions: z.strictObject({ parse: z.array(z.enum(['roles', 'users', 'everyone'])) }).optional(),
  })
  .refine(({ content, embeds }) => content !== undefined || embeds !== undefined)
  .refine(({ embeds = [] }) => {
    const texts = embeds.flatMap(({ title = '', description = '' }) => [title, description]);
    return texts.join('').length <= 6000;
  });

/** A backslash takes its meaning from the next sign. */
function findMarks(text: string): string[] {
  const bare = text.replaceAll(/\\[^A-Za-z0-9\s]/g, '\u0000');
  return bare.match(/@everyone|@here|<[@#:][^>]*>|\[[^\]]*\]\([^)]*\)|https?:\/\/\S+|[*_~`|]/g) ?? [];
}

export function startDiscord(): Promise<FakeChannel> {
  const token = '/api/webhooks/123/aSecretOfDiscord';
  return startHttpChannel(token, ({ method }, body) => {
    if (method !== 'POST') return { status: 405 };
    const read = payload.safeParse(body);
    if (!read.success) return { status: 400, text: '{"code":50035,"message":"Invalid Form Body"}' };
    const { content = '', embeds = [] } = read.data;
    const text = [content, ...embeds.flatMap(({ title = '', description = '' }) => [title, description])];
    const source = text.join('\n');
    const shown = source.replaceAll(/\\([^A-Za-z0-9\s])/g, '$1');
    return { status: 204, shown: { text: shown, marks: findMarks(source) } };
  });
}
