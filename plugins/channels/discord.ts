/**
 * Sends notices to a Discord webhook. Discord reads Markdown in an embed, and mentions in it too unless
 * `allowed_mentions` lists none.
 */
import { z } from 'zod';
import {
  channelOptions,
  channelUrl,
  defineChannel,
  formatTitle,
  sendJson,
} from '../shared/notices/channel.ts';

/** Discord refuses longer texts. */
const longest = { title: 256, description: 4096 };

const colours = { info: 0x5f6b7a, warning: 0xd9822b, critical: 0xc23030 };

function escape(text: string, most: number): string {
  const escaped = text.replaceAll(/[\\`*_~|<>[\]()#@:-]/g, String.raw`\$&`);
  return escaped.length <= most ? escaped : `${escaped.slice(0, most - 2).replace(/\\$/, '')}…`;
}

export const discord = defineChannel({
  kind: 'discord',
  options: z.strictObject({ url: channelUrl, ...channelOptions }),
  open: ({ url, timeout }) => ({
    send(message) {
      const embed = {
        title: escape(formatTitle(message), longest.title),
        description: escape(message.lines.join('\n'), longest.description),
        color: colours[message.severity],
      };
      const body = { embeds: [embed], allowed_mentions: { parse: [] } };
      return sendJson(url, { body: JSON.stringify(body), timeout });
    },
    // Discord shows a webhook to those who know its address.
    check: () => sendJson(url, { method: 'GET', timeout }),
  }),
});
