/**
 * Takes turns among the keys of one provider: of targets that only differ in the key, each call begins with
 * another one.
 */
import { definePlugin } from '../../core/index.ts';
import { groupAdjacent, isSameOffer, stages } from '../shared/routing/ranking.ts';

export const keys = definePlugin({
  name: 'keys',
  apply(host) {
    let turn = 0;
    host.hooks.route.tap({ name: 'keys', stage: stages.keys }, (targets) => {
      if (!targets.some(({ provider }) => provider.credential !== undefined)) return targets;
      turn += 1;
      return groupAdjacent(targets, isSameOffer).flatMap((alike) => {
        const first = turn % alike.length;
        return [...alike.slice(first), ...alike.slice(0, first)];
      });
    });
  },
});
