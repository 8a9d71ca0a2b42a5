/**
 * Spreads calls over the targets that are about as quick as the quickest: of two drawn by lot, the one with fewer
 * calls running. One that is clearly slower is left out, since whoever is sent there has to wait, however idle it is.
 */
import { z } from 'zod';
import { definePlugin, type Target } from '../../core/index.ts';
import { keepPaces, type Pace } from '../shared/routing/pace.ts';
import { lowestFirst, tapRanking } from '../shared/routing/ranking.ts';

/** A target more than this much slower than the quickest takes no part. */
const tolerance = 1.3;

interface Candidate {
  readonly target: Target;
  readonly pace: Pace;
  readonly estimate: number;
}

function draw(from: readonly Candidate[]): Candidate | undefined {
  return from[Math.floor(Math.random() * from.length)];
}

/** The less busy of two drawn by lot. */
function choose(quick: readonly Candidate[]): Candidate | undefined {
  const first = draw(quick);
  const second = draw(quick.filter((other) => other !== first));
  return first && second && second.pace.load < first.pace.load ? second : first;
}

/** How long a call would wait there, with what is running: the order in which the others are fallen back to. */
function burden({ pace, estimate }: Candidate): number {
  return estimate * (pace.load + 1);
}

export const balanced = definePlugin({
  name: 'balanced',
  /** Whether calls are routed so that ask for nothing. */
  options: z.strictObject({ byDefault: z.boolean().default(false) }),
  apply(host, { byDefault }) {
    const paces = keepPaces(host, 'balanced');
    tapRanking(host, 'balanced', byDefault, (targets, { call }) => {
      const now = performance.now();
      const candidates = targets.map((target): Candidate => {
        const pace = paces().of(target, call.stream);
        return { target, pace, estimate: pace.estimate(now) };
      });
      const quickest = Math.min(...candidates.map(({ estimate }) => estimate));
      const chosen = choose(candidates.filter(({ estimate }) => estimate <= quickest * tolerance));
      const order = lowestFirst(candidates, burden);
      return chosen ? [chosen.target, ...order.filter((other) => other !== chosen).map(({ target }) => target)] : targets;
    });
  },
});
