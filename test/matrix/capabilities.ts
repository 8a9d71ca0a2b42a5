/** All capabilities, by what they are about, in the order of the table. */
import { conversations } from './capabilities/conversation.ts';
import { errors } from './capabilities/errors.ts';
import { media } from './capabilities/media.ts';
import { reasoning } from './capabilities/reasoning.ts';
import { replies } from './capabilities/replies.ts';
import { settings } from './capabilities/settings.ts';
import { tools } from './capabilities/tools.ts';
import type { Capability } from './capability.ts';

export const groups: Readonly<Record<string, readonly Capability[]>> = {
  conversation: conversations,
  media,
  tools,
  reasoning,
  settings,
  replies,
  errors,
};
export const capabilities: readonly Capability[] = Object.values(groups).flat();
