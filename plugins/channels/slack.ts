/**
 * Sends notices to a Slack incoming webhook, or to a server that takes the same JSON. Slack reads `&`, `<`
 * and `>` as markup in `text`, and nothing in `plain_text`.
 */
import { z } from 'zod';
import {
  channelOptions,
  channelUrl,
  defineChannel,
  formatTitle,
  sendJson,
} from '../shared/notices/channel.ts';

/** Slack refuses a longer text of a block. */
const longest = 3000;

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

export const slack = defineChannel({
  kind: 'slack',
  options: z.strictObject({ url: channelUrl, ...channelOptions }),
  open: ({ url, timeout }) => ({
    send(message) {
      const title = formatTitle(message);
      const text = [title, ...message.lines].join('\n').slice(0, longest);
      const block = { type: 'section', text: { type: 'plain_text', text, emoji: false } };
      // Phones show `text`, as do servers without blocks.
      const body = { text: escape(text), blocks: [block], unfurl_links: false, unfurl_media: false };
      return sendJson(url, { body: JSON.stringify(body), timeout });
    },
    // Slack answers 400 to a message without a text, but 403, 404 or 410 if it knows no such webhook.
    check: () => sendJson(url, { body: '{}', timeout }, [400]),
  }),
});
