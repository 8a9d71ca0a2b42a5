/**
 * Sends notices to a Slack incoming webhook, or to a server that takes the same JSON. Slack reads `&`, `<`
 * and `>` as markup in `text`, and nothing in `plain_text`.
 */
import { defineJsonChannel } from '../shared/notices/channel.ts';
import { formatTitle } from '../shared/notices/message.ts';

/** Slack refuses a longer text of a block. */
const longest = 3000;

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

export const slack = defineJsonChannel({
  kind: 'slack',
  buildBody(message) {
    const text = [formatTitle(message), ...message.lines].join('\n').slice(0, longest);
    const block = { type: 'section', text: { type: 'plain_text', text, emoji: false } };
    // Phones show `text`, as do servers without blocks.
    return { text: escape(text), blocks: [block], unfurl_links: false, unfurl_media: false };
  },
});
