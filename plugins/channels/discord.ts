/**
 * Sends notices to a Discord webhook. Discord reads Markdown in an embed, and mentions in it too unless
 * `allowed_mentions` lists none.
 */
import { defineJsonChannel } from '../shared/notices/channel.ts';
import { formatTitle } from '../shared/notices/message.ts';

/** Discord refuses longer texts. */
const longest = { title: 256, description: 4096 };

const colours = { info: 0x5f6b7a, warning: 0xd9822b, critical: 0xc23030 };

function escape(text: string, most: number): string {
  const escaped = text.replaceAll(/[\\`*_~|<>[\]()#@:-]/g, String.raw`\$&`);
  return escaped.length <= most ? escaped : `${escaped.slice(0, most - 2).replace(/\\$/, '')}…`;
}

export const discord = defineJsonChannel({
  kind: 'discord',
  buildBody(message) {
    const embed = {
      title: escape(formatTitle(message), longest.title),
      description: escape(message.lines.join('\n'), longest.description),
      color: colours[message.severity],
    };
    return { embeds: [embed], allowed_mentions: { parse: [] } };
  },
});
