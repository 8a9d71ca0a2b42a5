/**
 * Takes turns among the keys of one provider: of targets that only differ in the key, each call begins with
 * another one.
 */
import { definePlugin, type Target } from '../../core/index.ts';
import { stages } from '../shared/routing/ranking.ts';

/** How many targets in a row, beginning at `start`, are the same model at the same provider. */
function countRun(targets: readonly Target[], start: number): number {
  const first = targets[start];
  let end = start + 1;
  while (
    end < targets.length &&
    targets[end]?.provider.name === first?.provider.name &&
    targets[end]?.model.id === first?.model.id
  )
    end += 1;
  return end - start;
}

export const keys = definePlugin({
  name: 'keys',
  apply(host) {
    let turn = 0;
    host.hooks.route.tap({ name: 'keys', stage: stages.keys }, (targets) => {
      if (!targets.some(({ provider }) => provider.credential !== undefined)) return targets;
      turn += 1;
      const rotated: Target[][] = [];
      for (let start = 0; start < targets.length;) {
        const end = start + countRun(targets, start);
        const first = start + (turn % (end - start));
        rotated.push(targets.slice(first, end), targets.slice(start, first));
        start = end;
      }
      return rotated.flat();
    });
  },
});
