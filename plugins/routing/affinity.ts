/**
 * Sends the calls of a conversation to the provider and the key that answered its last call: that vendor has
 * the conversation in its cache, where input costs a tenth. Health is more important: if the target fails,
 * the conversation moves. Workers, and gateways that share a database, report moves to each other.
 */
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { definePlugin, type Target } from '../../core/index.ts';
import { keepThroughReloads } from '../shared/kept.ts';
import { openNews } from '../shared/news.ts';
import { hashConversation } from '../shared/routing/conversation.ts';
import { stages } from '../shared/routing/ranking.ts';
import { limitEntries } from '../shared/up-to.ts';

const options = z.strictObject({
  /** Conversations of fewer bytes are not remembered, since no vendor caches them. */
  from: z.int().nonnegative().default(4096),
  /** Seconds after its last call in which a conversation may still be in the vendor's cache. */
  keep: z.number().positive().default(3600),
  /** How many conversations are remembered. */
  most: z.int().positive().default(50_000),
});

/** What a process reports when a conversation moves. */
const movedSchema = z.object({ conversation: z.string(), name: z.string(), credential: z.int().optional() });

/** A provider, and which of its keys. */
type Home = Omit<z.output<typeof movedSchema>, 'conversation'>;

function isSame(one: Home | undefined, other: Home): boolean {
  return one?.name === other.name && one.credential === other.credential;
}

/** Moves the conversation's target in front of the others of the same model. */
function moveFirst(targets: readonly Target[], home: Home): readonly Target[] {
  const model = targets[0]?.model.id;
  const found = targets.find((target) => target.model.id === model && isSame(target.provider, home));
  if (!found || found === targets[0]) return targets;
  return [found, ...targets.filter((target) => target !== found)];
}

export const affinity = definePlugin({
  name: 'affinity',
  options,
  apply(host, { from, keep, most }) {
    const { hooks } = host;
    const news = openNews(host, 'affinity');
    const limits = { ...limitEntries(most), ttl: keep * 1000, perf: { now: () => Date.now() } };
    const known = new LRUCache<string, Home>(limits);
    const homes = keepThroughReloads(host, 'affinity', known, { from, keep, most });
    const settle = (conversation: string, home: Home, before: Home | undefined): void => {
      homes().set(conversation, home);
      if (!news.hasOthers() || isSame(before, home)) return;
      const { name, credential } = home;
      news.notify('affinity', { conversation, name, credential } satisfies z.output<typeof movedSchema>);
    };
    hooks.ready.tapPromise('affinity', async () => {
      const stop = news.hear('affinity', (moved) => {
        const { conversation, ...home } = movedSchema.parse(moved);
        homes().set(conversation, home);
      });
      hooks.close.tapPromise('affinity', async () => stop());
    });
    hooks.route.tap({ name: 'affinity', stage: stages.affinity }, (targets, parsed) => {
      const { call, protocol } = parsed;
      // Calls that are no conversations have nothing in a cache.
      if (targets.length < 2 || protocol.makes !== undefined) return targets;
      if (call.size.textBytes < from || call.preferences.order) return targets;
      const conversation = hashConversation(parsed);
      const home = homes().get(conversation);
      const ordered = home ? moveFirst(targets, home) : targets;
      if (ordered[0] && !parsed.preview) settle(conversation, ordered[0].provider, home);
      return ordered;
    });
    // If the first target failed, the conversation moves to the one that answered.
    hooks.attempt.tap('affinity', ({ phase, number, target }, routed) => {
      if (phase !== 'first-event' || number === 1 || routed.protocol.makes !== undefined) return;
      if (routed.call.size.textBytes < from) return;
      const conversation = hashConversation(routed);
      settle(conversation, target.provider, homes().get(conversation));
    });
  },
});
