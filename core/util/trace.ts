/**
 * When the steps of a call ended, and which targets each `route` tap left: for the record of the call. Steps
 * are noted as they are; what they mean is worked out when the record is written.
 */
import type { Target } from '../exchange.ts';

/** A `route` tap that removed or reordered targets. */
export interface RouteStep {
  /** The name of the tap. */
  readonly by: string;
  /** Why it removes targets, as its place says. */
  readonly because: string | undefined;
  readonly given: readonly Target[];
  readonly left: readonly Target[];
}

/** Why core itself removes targets. */
export const notPermitted = 'the key may not call it';
export const notPriced = 'it has no price for what the call asks for';

/** Whether both are the same place to call: a tap may change the price of a target. */
function isSameTarget(one: Target, other: Target | undefined): boolean {
  return one === other || (one.provider === other?.provider && one.model.id === other.model.id);
}

/** Times are whole microseconds since the headers, which V8 keeps without allocating; 0: not reached. */
export class Trace {
  authenticated = 0;
  read = 0;
  replayed = 0;
  routed = 0;
  authorized = 0;
  settled = 0;
  steps: RouteStep[] | undefined = undefined;

  /** Notes a step that changed the targets or their order, and returns what it left. */
  note(
    by: string,
    because: string | undefined,
    given: readonly Target[],
    left: readonly Target[],
  ): readonly Target[] {
    const isSame =
      left === given ||
      (left.length === given.length && left.every((target, index) => isSameTarget(target, given[index])));
    if (!isSame) (this.steps ??= []).push({ by, because, given, left });
    return left;
  }
}

export type Mark = Exclude<keyof Trace, 'steps' | 'note'>;

/** Notes that a step ends now. */
export function mark(
  { trace, startedAt }: { readonly trace: Trace; readonly startedAt: number },
  step: Mark,
): void {
  trace[step] = Math.round((performance.now() - startedAt) * 1000);
}
